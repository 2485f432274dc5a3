-- Questions of Macs where nobody sits, and what approvers of the team answer. A host believes an
-- answer by its signature alone.

CREATE TABLE questions (
    team text NOT NULL,
    host text NOT NULL,
    id text NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    text text NOT NULL,
    answers text[] NOT NULL,
    PRIMARY KEY (team, host, id)
);

CREATE TABLE answers (
    team text NOT NULL,
    host text NOT NULL,
    id text NOT NULL,
    answer text NOT NULL,
    approver text NOT NULL,
    signature bytea NOT NULL,
    given timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team, host, id, approver)
);

-- What waits on a host now; what waits no more goes. Returns the answers that there are.
CREATE FUNCTION ask(host_ text, rows_ json) RETURNS SETOF answers LANGUAGE plpgsql
SECURITY DEFINER SET search_path = fleet, pg_temp AS $$
BEGIN
    PERFORM team_for(host_);
    DELETE FROM questions WHERE team = my_team() AND host = host_
        AND id NOT IN (SELECT row ->> 'id' FROM json_array_elements(rows_) AS row);
    INSERT INTO questions (team, host, id, text, answers)
        SELECT my_team(), host_, t.id, t.text, t.answers
        FROM json_to_recordset(rows_) AS t(id text, text text, answers text[])
        ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT a.* FROM answers a JOIN questions q USING (team, host, id)
        WHERE a.team = my_team() AND a.host = host_;
END $$;

CREATE FUNCTION give(host_ text, id_ text, answer_ text, approver_ text, signature_ bytea)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = fleet, pg_temp AS $$
    INSERT INTO answers (team, host, id, answer, approver, signature)
    VALUES (my_team(), host_, id_, answer_, approver_, signature_) ON CONFLICT DO NOTHING
$$;

ALTER TABLE questions ENABLE ROW LEVEL SECURITY;
ALTER TABLE answers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON questions FOR SELECT USING (team = my_team());
CREATE POLICY own ON answers FOR SELECT USING (team = my_team());
REVOKE ALL ON FUNCTION ask, give FROM PUBLIC;
