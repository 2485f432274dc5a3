-- What a team publishes to its Macs: signed versions of its policy, for a share of them or for all.

CREATE TABLE versions (
    team text NOT NULL,
    number bigint NOT NULL,
    share int NOT NULL CHECK (share BETWEEN 0 AND 100),
    body text NOT NULL,
    signature bytea NOT NULL,
    made timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team, number)
);

-- The newest version that is meant for a host: the same hosts have it early each time it is staged.
CREATE FUNCTION newest(host_ text) RETURNS SETOF versions LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = fleet, pg_temp AS $$
    SELECT * FROM versions WHERE team = my_team()
        AND ('x' || substr(md5(host_), 1, 7))::bit(28)::int % 100 < share
    ORDER BY number DESC LIMIT 1
$$;

CREATE FUNCTION publish(number_ bigint, share_ int, body_ text, signature_ bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = fleet, pg_temp AS $$
    INSERT INTO versions VALUES (my_team(), number_, share_, body_, signature_)
$$;

ALTER TABLE versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON versions FOR SELECT USING (team = my_team());
REVOKE ALL ON FUNCTION newest, publish FROM PUBLIC;
