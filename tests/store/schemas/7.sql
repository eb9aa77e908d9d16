-- A log as schema 7 kept it. Frozen: later versions must open it as it is.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL,
    agent TEXT NOT NULL,
    agent_command TEXT NOT NULL,
    reads_only INTEGER NOT NULL,
    title TEXT NOT NULL,
    titled INTEGER NOT NULL,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    last_turn TEXT,
    agent_session_id TEXT
);
CREATE INDEX sessions_by_change ON sessions (updated_at, session_id);
CREATE INDEX sessions_by_workspace ON sessions (workspace, updated_at, session_id);
CREATE INDEX sessions_by_state ON sessions (state);
CREATE TABLE events (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    turn_id TEXT,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (session, seq)
);
CREATE TABLE desks (
    session_id TEXT PRIMARY KEY,
    desk BLOB NOT NULL
);
CREATE INDEX standing_events ON events (session, kind, seq) WHERE kind IN (
    'plan_updated', 'todos_updated', 'usage_updated', 'commands_updated', 'config_updated'
);
INSERT INTO sessions VALUES
    (1, 'golden', '/work', 'porter', '["portico","agent"]', 0, 'look around', 0, 'completed', 1000, 1005, 6, 't1', 'theirs'),
    (2, 'titled', '/work', 'other', '[]', 1, 'A title', 1, 'idle', 2000, 2001, 2, NULL, NULL);
INSERT INTO events VALUES
    (1, 1, NULL, 1000, 'session_started', CAST('{"workspace":"/work","agent":"porter","continued":false,"mode":"direct","porticoVersion":"0.1.0","agentCommand":["portico","agent"]}' AS BLOB)),
    (1, 2, 't1', 1001, 'prompt_submitted', CAST('{"text":"look\naround"}' AS BLOB)),
    (1, 3, 't1', 1002, 'state_changed', CAST('{"state":"running","previous":"idle","agentSession":{"agentSessionId":"theirs","attachedBy":"new"}}' AS BLOB)),
    (1, 4, 't1', 1003, 'text_delta', CAST('{"text":"Nothing here."}' AS BLOB)),
    (1, 5, 't1', 1004, 'turn_ended', CAST('{"state":"completed","stopReason":"end_turn","durationMs":3,"toolsUsed":0}' AS BLOB)),
    (1, 6, 't1', 1005, 'state_changed', CAST('{"state":"completed","previous":"running"}' AS BLOB)),
    (2, 1, NULL, 2000, 'session_started', CAST('{"workspace":"/work","agent":"other","continued":false,"mode":"direct","porticoVersion":"0.1.0","readsOnly":true}' AS BLOB)),
    (2, 2, NULL, 2001, 'title_updated', CAST('{"title":"A title"}' AS BLOB));
INSERT INTO desks VALUES ('titled', CAST('{"draft":"not sent","clientId":"a","queue":[{"promptId":"q1","text":"next"}],"revision":3}' AS BLOB));
ALTER TABLE sessions ADD COLUMN mode TEXT NOT NULL DEFAULT 'direct';

ALTER TABLE events ADD COLUMN checksum BLOB;
ALTER TABLE sessions ADD COLUMN checksum BLOB;
UPDATE sessions SET checksum = x'3EB7D400FEC79B3780791910AF172E01' WHERE number = 1;
UPDATE sessions SET checksum = x'668F0EDCF188DAF0AB6DF856D85A82BE' WHERE number = 2;
UPDATE events SET checksum = x'CCB5D4A0E149F296E195F62531B34BEA' WHERE session = 2 AND seq = 1;
UPDATE events SET checksum = x'668F0EDCF188DAF0AB6DF856D85A82BE' WHERE session = 2 AND seq = 2;

ALTER TABLE sessions ADD COLUMN components TEXT NOT NULL DEFAULT '{}';
ALTER TABLE sessions ADD COLUMN proposed TEXT NOT NULL DEFAULT '{}';
ALTER TABLE sessions ADD COLUMN branched_at TEXT NOT NULL DEFAULT 'null';
PRAGMA user_version = 7;
