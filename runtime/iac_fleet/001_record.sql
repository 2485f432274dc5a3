-- The record of a team: what each Mac's audit holds, in its order, and what is wrong with it.
-- Hosts write through `arrive` alone; a team sees its own rows alone.

CREATE TABLE teams (
    role name PRIMARY KEY,
    team text NOT NULL,
    -- The only name under which the role writes; any where it is null.
    host text
);

CREATE TABLE hosts (
    team text NOT NULL,
    host text NOT NULL,
    seen timestamptz NOT NULL DEFAULT now(),
    facts jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (team, host)
);

-- A host has a new chain where its audit was damaged and begun anew; `store` names the chain.
CREATE TABLE chains (
    team text NOT NULL,
    host text NOT NULL,
    store text NOT NULL,
    last_seq bigint NOT NULL DEFAULT 0,
    last_hash bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    PRIMARY KEY (team, host, store)
);

-- By the month of arrival: the clock of a host may say anything. `seq` is unique in its chain by
-- the lock on the chain; no index over all months could hold that.
CREATE TABLE rows (
    team text NOT NULL,
    host text NOT NULL,
    store text NOT NULL,
    seq bigint NOT NULL,
    arrived timestamptz NOT NULL DEFAULT clock_timestamp(),
    time text NOT NULL,
    session text NOT NULL,
    call bigint NOT NULL,
    event text NOT NULL,
    body text NOT NULL,
    hash bytea NOT NULL,
    app text,
    tool text,
    client text,
    level text,
    decision text
) PARTITION BY RANGE (arrived);

CREATE INDEX rows_in_chain ON rows (team, host, store, seq);
CREATE INDEX rows_by_time ON rows (team, time DESC) WHERE event = 'intent';
CREATE INDEX rows_by_app ON rows (team, app, time DESC) WHERE event = 'intent';
CREATE INDEX rows_by_tool ON rows (team, tool, time DESC) WHERE event = 'intent';

CREATE TABLE faults (
    team text NOT NULL,
    host text NOT NULL,
    store text NOT NULL,
    seq bigint NOT NULL,
    why text NOT NULL,
    found timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team, host, store, seq, why)
);

CREATE FUNCTION my_team() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = fleet, pg_temp AS
$$ SELECT team FROM teams WHERE role = session_user $$;

-- The team of the role, which must be allowed to write under the name of a host.
CREATE FUNCTION team_for(host_ text) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = fleet, pg_temp AS $$
DECLARE
    found teams;
BEGIN
    SELECT * INTO found FROM teams WHERE role = session_user;
    IF found.team IS NULL THEN
        RAISE EXCEPTION 'this role belongs to no team' USING ERRCODE = 'insufficient_privilege';
    ELSIF found.host <> host_ THEN
        RAISE EXCEPTION 'this role is that of another Mac' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN found.team;
END $$;

-- What the hash of a row covers beside the hash before it, as a host's own audit writes it.
CREATE FUNCTION text_of(seq bigint, at text, run text, call bigint, event text, body text)
RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT convert_to('[' || seq || ',' || to_json(at) || ',' || to_json(run) || ',' || call
        || ',' || to_json(event) || ',' || to_json(body) || ']', 'UTF8')
$$;

-- A body that no audit wrote says nothing, and is kept all the same.
CREATE FUNCTION said_in(body text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN replace(body, '\u0000', '')::json;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

CREATE FUNCTION make_room() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = fleet, pg_temp AS $$
DECLARE
    month date := date_trunc('month', now() AT TIME ZONE 'UTC');
    upto date;
    part text;
BEGIN
    -- The next month too: it may begin before the rows are in.
    FOR _ IN 1..2 LOOP
        part := 'rows_' || to_char(month, 'YYYY_MM');
        upto := month + interval '1 month';
        IF to_regclass(part) IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext('fleet.make_room'));
            EXECUTE format(
                'CREATE TABLE IF NOT EXISTS %I PARTITION OF rows FOR VALUES FROM (%L) TO (%L)',
                part, month || ' 00:00+00', upto || ' 00:00+00');
        END IF;
        month := upto;
    END LOOP;
END $$;

-- Checks rows after a place of a chain and keeps them; `careful` takes ten times as long.
CREATE FUNCTION keep(team_ text, host_ text, store_ text, last bigint, head bytea, rows_ json,
    careful boolean) RETURNS void LANGUAGE plpgsql SET search_path = fleet, pg_temp AS $$
BEGIN
    WITH given AS (
        SELECT seq, time, session, call, event, body, decode(hash, 'hex') AS hash
        FROM json_to_recordset(rows_) AS t(seq bigint, time text, session text, call bigint,
            event text, body text, hash text)
        WHERE seq > last
    ), linked AS (
        SELECT *, coalesce(lag(seq) OVER w, last) AS seq_before,
            coalesce(lag(hash) OVER w, head) AS hash_before
        FROM given WINDOW w AS (ORDER BY seq)
    ), wrong AS (
        SELECT seq, CASE WHEN seq <> seq_before + 1 THEN 'rows are missing before it'
            ELSE 'it was changed' END AS why
        FROM linked WHERE seq <> seq_before + 1
            OR sha256(hash_before || text_of(seq, time, session, call, event, body)) <> hash
    ), told AS (
        INSERT INTO faults SELECT team_, host_, store_, seq, why FROM wrong ON CONFLICT DO NOTHING
    ), ended AS (
        UPDATE chains SET (last_seq, last_hash) = (SELECT seq, hash FROM given ORDER BY seq DESC LIMIT 1)
        WHERE team = team_ AND host = host_ AND store = store_ AND EXISTS (SELECT FROM given)
    )
    INSERT INTO rows (team, host, store, seq, time, session, call, event, body, hash,
        app, tool, client, level, decision)
    SELECT team_, host_, store_, seq, time, session, call, event, body, hash, said.*
    FROM given LEFT JOIN LATERAL json_to_record(
        CASE WHEN event <> 'intent' THEN NULL WHEN careful THEN said_in(body) ELSE body::json END
    ) AS said(app text, tool text, client text, level text, decision text) ON true
    ORDER BY seq;
END $$;

-- Takes rows of a chain, those that are there already passed over; returns the last place that is
-- there. What does not fit is kept all the same, and said in `faults`.
CREATE FUNCTION arrive(host_ text, store_ text, before_ bytea, rows_ json) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = fleet, pg_temp AS $$
DECLARE
    team_ text := team_for(host_);
    last bigint;
    head bytea;
BEGIN
    PERFORM make_room();
    INSERT INTO hosts (team, host) VALUES (team_, host_)
        ON CONFLICT (team, host) DO UPDATE SET seen = now();
    INSERT INTO chains (team, host, store) VALUES (team_, host_, store_) ON CONFLICT DO NOTHING;
    SELECT last_seq, last_hash INTO last, head FROM chains
        WHERE team = team_ AND host = host_ AND store = store_ FOR UPDATE;
    IF before_ <> head AND (rows_ -> 0 ->> 'seq')::bigint = last + 1 THEN
        INSERT INTO faults VALUES (team_, host_, store_, last, 'the host has another row here')
            ON CONFLICT DO NOTHING;
    END IF;
    BEGIN
        PERFORM keep(team_, host_, store_, last, head, rows_, false);
    EXCEPTION WHEN data_exception THEN
        PERFORM keep(team_, host_, store_, last, head, rows_, true);
    END;
    RETURN (SELECT last_seq FROM chains WHERE team = team_ AND host = host_ AND store = store_);
END $$;

CREATE FUNCTION last_of(host_ text, store_ text) RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = fleet, pg_temp AS $$
    SELECT coalesce(max(last_seq), 0) FROM chains
    WHERE team = my_team() AND host = host_ AND store = store_
$$;

-- What a host says of itself, and that it was there.
CREATE FUNCTION tell(host_ text, facts_ jsonb) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = fleet, pg_temp AS $$
BEGIN
    INSERT INTO hosts (team, host, facts) VALUES (team_for(host_), host_, facts_)
        ON CONFLICT (team, host) DO UPDATE SET seen = now(), facts = excluded.facts;
END $$;

-- A host whose own audit ends before what it sent: rows of it were taken away there.
CREATE FUNCTION shortened(host_ text, store_ text, seq_ bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = fleet, pg_temp AS $$
BEGIN
    INSERT INTO faults VALUES (team_for(host_), host_, store_, seq_, 'the host has no rows after it')
        ON CONFLICT DO NOTHING;
END $$;

ALTER TABLE hosts ENABLE ROW LEVEL SECURITY;
ALTER TABLE chains ENABLE ROW LEVEL SECURITY;
ALTER TABLE rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE faults ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON hosts FOR SELECT USING (team = my_team());
CREATE POLICY own ON chains FOR SELECT USING (team = my_team());
CREATE POLICY own ON rows FOR SELECT USING (team = my_team());
CREATE POLICY own ON faults FOR SELECT USING (team = my_team());

REVOKE ALL ON FUNCTION arrive, keep, last_of, tell, shortened, make_room, my_team, team_for FROM PUBLIC;
