-- How many calls of each level a Mac made on a day, counted as rows arrive: a page that counts the
-- rows themselves reads a month of them each time.

CREATE TABLE counts (
    team text,
    host text,
    day text,
    level text,
    calls bigint NOT NULL,
    PRIMARY KEY (team, host, day, level)
);
INSERT INTO counts SELECT team, host, substr(time, 1, 10), (summary).level, count(*) FROM rows
    WHERE event = 'intent' AND (summary).level IN ('SAFE', 'MODIFY', 'DANGEROUS') GROUP BY 1, 2, 3, 4;

CREATE FUNCTION count_calls() RETURNS trigger LANGUAGE plpgsql
SET search_path = fleet, pg_temp AS $$
BEGIN
    -- Generated columns are empty in `arrived`, as `rows` has partitions.
    INSERT INTO counts SELECT team, host, substr(time, 1, 10), level, count(*)
        FROM arrived, LATERAL summary_of(event, body)
        WHERE level IN ('SAFE', 'MODIFY', 'DANGEROUS') GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (team, host, day, level) DO UPDATE SET calls = counts.calls + excluded.calls;
    RETURN NULL;
END $$;
CREATE TRIGGER count_calls AFTER INSERT ON rows REFERENCING NEW TABLE AS arrived
    FOR EACH STATEMENT EXECUTE FUNCTION count_calls();

ALTER TABLE counts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON counts FOR SELECT USING (team = my_team());
REVOKE ALL ON FUNCTION count_calls FROM PUBLIC;
DO $$
DECLARE
    reader name;
BEGIN
    FOR reader IN SELECT role FROM teams JOIN pg_roles ON rolname = role
        WHERE has_table_privilege(role, 'rows', 'SELECT') LOOP
        EXECUTE format('GRANT SELECT ON counts TO %I', reader);
    END LOOP;
END $$;
