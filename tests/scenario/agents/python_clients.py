"""Clients from PyPI, run by an interpreter that has them: `python_clients.py CLIENT PROMPT`.

Prints what came of it as one JSON object; a prompt `wait` is cancelled after a moment.
"""

import asyncio
import json
import sys
from pathlib import Path

SERVER = str(Path(__file__).parent.parent / "server_program.py")
ECHO = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}


async def anthropic(prompt, server):
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(max_retries=2)
    tool = {"name": "mcp__ours__echo", "input_schema": ECHO}
    messages = [{"role": "user", "content": prompt}]
    options = {"model": "any", "max_tokens": 99, "tools": [tool]}
    counted = await client.messages.count_tokens(model="any", messages=messages)
    for _ in range(9):
        async with client.messages.stream(**options, messages=messages) as stream:
            message = await stream.get_final_message()
        whole = message.content
        calls = [block for block in whole if block.type == "tool_use"]
        if not calls:
            break
        messages.append({"role": "assistant", "content": whole})
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": call.input["text"]}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})
    return {"text": whole[-1].text, "counted": counted.input_tokens > 0}


async def openai_chat(prompt, server):
    from openai import AsyncOpenAI

    client = AsyncOpenAI(max_retries=2)
    tool = {"type": "function", "function": {"name": "mcp__ours__echo", "parameters": ECHO}}
    messages = [{"role": "user", "content": prompt}]
    for _ in range(9):
        async with client.chat.completions.stream(
            model="any", messages=messages, tools=[tool]
        ) as stream:
            message = (await stream.get_final_completion()).choices[0].message
        if not message.tool_calls:
            break
        messages.append(message)
        for call in message.tool_calls:
            said = json.loads(call.function.arguments)["text"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
    return {"text": message.content}


async def openai_responses(prompt, server):
    from openai import AsyncOpenAI

    client = AsyncOpenAI(max_retries=2)
    tool = {"type": "function", "name": "mcp__ours__echo", "parameters": ECHO, "strict": False}
    given = [{"role": "user", "content": prompt}]
    for _ in range(9):
        async with client.responses.stream(model="any", input=given, tools=[tool]) as stream:
            response = await stream.get_final_response()
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            break
        given += (item.model_dump(exclude={"parsed_arguments"}) for item in response.output)
        for call in calls:
            said = json.loads(call.arguments)["text"]
            given.append({"type": "function_call_output", "call_id": call.call_id, "output": said})
    return {"text": response.output_text}


async def claude_agent_sdk(prompt, server):
    from claude_agent_sdk import (
        ClaudeAgentOptions,
        ClaudeSDKClient,
        PermissionResultAllow,
        PermissionResultDeny,
        ResultMessage,
    )

    asked = []

    async def permit(tool, given, _context):
        asked.append(tool)
        if "deny" in prompt:
            return PermissionResultDeny(message="not today")
        return PermissionResultAllow(updated_input=given)

    options = ClaudeAgentOptions(
        can_use_tool=permit,
        mcp_servers={"ours": {"command": server, "args": [SERVER]}},
    )
    async with ClaudeSDKClient(options) as client:
        await client.query(prompt)
        if prompt == "wait":
            await asyncio.sleep(1)
            await client.interrupt()
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                return {"text": message.result, "subtype": message.subtype, "asked": asked}
    return None


async def main(name, prompt, server):
    run = globals()[name](prompt, server)
    try:
        if prompt == "wait" and name != "claude_agent_sdk":
            run = asyncio.wait_for(run, 1)
        print(json.dumps(await run))
    except Exception as error:
        print(json.dumps({"error": type(error).__name__, "said": str(error)}))


asyncio.run(main(*sys.argv[1:]))
