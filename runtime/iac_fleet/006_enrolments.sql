-- A Mac comes in with a file that its owner made, once, and can be sent away.

ALTER TABLE hosts ADD COLUMN revoked timestamptz;

CREATE TABLE enrolments (
    id text PRIMARY KEY,
    team text NOT NULL,
    host text NOT NULL,
    role name NOT NULL,
    until timestamptz NOT NULL,
    used timestamptz
);

-- Uses an enrolment of the role that asks.
CREATE FUNCTION use_enrolment(id_ text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = fleet, pg_temp AS $$
BEGIN
    UPDATE enrolments SET used = now()
        WHERE id = id_ AND role = session_user AND used IS NULL AND until > now();
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this enrolment was used, was revoked or is too old'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END $$;

ALTER TABLE enrolments ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON enrolments FOR SELECT USING (team = my_team());
REVOKE ALL ON FUNCTION use_enrolment FROM PUBLIC;
