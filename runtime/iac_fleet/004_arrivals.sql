-- When a row arrived is the database's own word, which no hash of a host covers: each row is sealed
-- with the seal before it, its own hash and that time.

ALTER TABLE rows ADD COLUMN seal bytea;

CREATE FUNCTION next_seal(seal_before bytea, first_before bytea, hash bytea, arrived timestamptz)
RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(coalesce(seal_before, first_before, decode(repeat('00', 32), 'hex')) || hash
        || convert_to(to_char(arrived AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), 'UTF8'))
$$;

-- The seal of the last row of a window whose first row follows the seal `first_before`.
CREATE AGGREGATE seal_of(first_before bytea, hash bytea, arrived timestamptz) (
    SFUNC = next_seal, STYPE = bytea
);

UPDATE rows SET seal = sealed.seal FROM (
    SELECT team, host, store, seq, seal_of(NULL, hash, arrived)
        OVER (PARTITION BY team, host, store ORDER BY seq) AS seal FROM rows
) AS sealed WHERE (rows.team, rows.host, rows.store, rows.seq)
    = (sealed.team, sealed.host, sealed.store, sealed.seq);

-- As before, and sealed.
CREATE OR REPLACE FUNCTION keep(team_ text, host_ text, store_ text, last bigint, head bytea,
    rows_ json, careful boolean) RETURNS void LANGUAGE plpgsql SET search_path = fleet, pg_temp AS $$
DECLARE
    now_ timestamptz := clock_timestamp();
    sealed bytea := (SELECT r.seal FROM rows r
        WHERE r.team = team_ AND r.host = host_ AND r.store = store_ AND r.seq = last);
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
    INSERT INTO rows (team, host, store, seq, arrived, time, session, call, event, body, hash, seal,
        app, tool, client, level, decision)
    SELECT team_, host_, store_, seq, now_, time, session, call, event, body, hash,
        seal_of(sealed, hash, now_) OVER (ORDER BY seq), said.*
    FROM given LEFT JOIN LATERAL json_to_record(
        CASE WHEN event <> 'intent' THEN NULL WHEN careful THEN said_in(body) ELSE body::json END
    ) AS said(app text, tool text, client text, level text, decision text) ON true
    ORDER BY seq;
END $$;
