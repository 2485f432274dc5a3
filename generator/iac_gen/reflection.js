// Reads {app, kind, classes: [[spelling, ...], ...]} as JSON from standard input and answers what
// JXA's reflection says of the app. No event is sent and no app is started. The text is constant.

function run() {
  var stdin = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
  var request = JSON.parse(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(stdin, 4)));
  var app;
  if (request.kind === 'addition') {
    app = Application.currentApplication();
    app.includeStandardAdditions = true;
  } else {
    app = Application(request.app);
  }
  return JSON.stringify({
    commands: names(function () { return app.commandsOfClass(); }),
    classes: request.classes.map(function (spellings) { return ofClass(app, spellings); })
  });
}

// The spelling of a class that reflection wants is not known: the first that it knows counts.
function ofClass(app, spellings) {
  var found = null;
  for (var i = 0; i < spellings.length; i++) {
    var answer = asked(app, spellings[i]);
    if (found === null) found = answer;
    if ((answer.properties || []).length || (answer.elements || []).length) return answer;
  }
  return found;
}

function asked(app, spelling) {
  return {
    properties: names(function () { return app.propertiesOfClass(spelling); }),
    elements: names(function () { return app.elementsOfClass(spelling); }),
    parent: text(function () { return app.parentOfClass(spelling); })
  };
}

function names(ask) {
  try {
    var answer = ask();
    if (!Array.isArray(answer)) answer = ObjC.deepUnwrap(answer);
    return Array.isArray(answer) ? answer.map(String) : null;
  } catch (error) {
    return null;
  }
}

function text(ask) {
  try {
    var answer = ask();
    if (typeof answer !== 'string') answer = ObjC.unwrap(answer);
    return typeof answer === 'string' ? answer : null;
  } catch (error) {
    return null;
  }
}
