PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE migration (version integer primary key not null, name text not null, sha256 text not null, applied_at integer not null) strict;
INSERT INTO migration VALUES(1,'0001-init','87075f14f97dcdbcdcc30dbed25b2ad3cfbb87d7f5d85a70f2e4a68e0c597fcf',1795319855639);
INSERT INTO migration VALUES(2,'0002-verdicts','17a5208d1848d01c5251f57fdb1506b6c1068053e69fab723b5f642797302678',1795319855639);
CREATE TABLE meta (
  key text primary key not null,
  value any
) strict, without rowid;
INSERT INTO meta VALUES('last_now',1795319855722.0);
CREATE TABLE state_transition (
  machine text not null,
  from_state text not null,
  to_state text not null,
  primary key (machine, from_state, to_state)
) strict, without rowid;
INSERT INTO state_transition VALUES('attempt','pending','running');
INSERT INTO state_transition VALUES('attempt','running','cancelled');
INSERT INTO state_transition VALUES('attempt','running','completed');
INSERT INTO state_transition VALUES('attempt','running','failed_agent_call');
INSERT INTO state_transition VALUES('attempt','running','failed_evaluation');
INSERT INTO state_transition VALUES('attempt','running','stale');
INSERT INTO state_transition VALUES('attempt','running','suspended');
INSERT INTO state_transition VALUES('attempt','running','timed_out');
INSERT INTO state_transition VALUES('attempt','suspended','cancelled');
INSERT INTO state_transition VALUES('attempt','suspended','running');
INSERT INTO state_transition VALUES('delivery','dead','pending');
INSERT INTO state_transition VALUES('delivery','failed','dead');
INSERT INTO state_transition VALUES('delivery','failed','pending');
INSERT INTO state_transition VALUES('delivery','pending','failed');
INSERT INTO state_transition VALUES('delivery','pending','published');
INSERT INTO state_transition VALUES('execution','pending','cancelled');
INSERT INTO state_transition VALUES('execution','pending','running');
INSERT INTO state_transition VALUES('execution','retry_scheduled','cancelled');
INSERT INTO state_transition VALUES('execution','retry_scheduled','running');
INSERT INTO state_transition VALUES('execution','running','cancelled');
INSERT INTO state_transition VALUES('execution','running','completed');
INSERT INTO state_transition VALUES('execution','running','failed');
INSERT INTO state_transition VALUES('execution','running','retry_scheduled');
INSERT INTO state_transition VALUES('execution','running','timed_out');
INSERT INTO state_transition VALUES('execution','running','waiting');
INSERT INTO state_transition VALUES('execution','waiting','cancelled');
INSERT INTO state_transition VALUES('execution','waiting','running');
INSERT INTO state_transition VALUES('run','finalizing','completed');
INSERT INTO state_transition VALUES('run','finalizing','failed');
INSERT INTO state_transition VALUES('run','pending','cancelled');
INSERT INTO state_transition VALUES('run','pending','running');
INSERT INTO state_transition VALUES('run','running','cancelled');
INSERT INTO state_transition VALUES('run','running','failed');
INSERT INTO state_transition VALUES('run','running','finalizing');
CREATE TABLE snapshot (
  digest text primary key not null check (length(digest) = 64),
  body text not null check (json_valid(body))
) strict, without rowid;
INSERT INTO snapshot VALUES('1007255b857279e811fd3c049aa2a886dc8d44062038dd4f3d49a82814d178d3','{"of":"run_done"}');
INSERT INTO snapshot VALUES('a69c266a3e65905906fa9c4613edb3d73c582aad0bef356f72ee0c2c3fb9bf02','{"of":"run_open"}');
CREATE TABLE run (
  run_no integer primary key,
  run_id text not null unique,
  run_key text unique,
  status text not null,
  gate_status text not null,
  snapshot_digest text not null references snapshot (digest) deferrable initially deferred,
  plan_digest text not null,
  cases integer not null,
  repeats integer not null,
  total integer not null,
  materialized integer not null default 0 check (materialized between 0 and total),
  concurrency integer not null check (concurrency > 0),
  next_pass integer not null default 0,
  base_dir text not null,
  created_by text not null,
  created_at integer not null,
  started_at integer,
  finished_at integer,
  cancel_requested_at integer,
  reason text,
  verdict text,
  content_digest text,
  merkle_root text,
  evidence_root text,
  event_head text, stop_reason text check (stop_reason in ('budget', 'early_stop')), stop_after integer,
  check ((status in ('completed', 'failed', 'cancelled')) = (finished_at is not null)),
  check ((status = 'completed') = (verdict is not null and evidence_root is not null and content_digest is not null)),
  check ((status = 'completed') = (gate_status <> 'unknown'))
) strict;
INSERT INTO run VALUES(1,'run_done','key of run_done','completed','pass','1007255b857279e811fd3c049aa2a886dc8d44062038dd4f3d49a82814d178d3','3780746b4a23a453d84a1948705535ac45281c9262fa4c551b7ea82b997f11a2',2,2,4,4,8,4000,'/somewhere','human:someone',1795319855665,1795319855682,1795319855698,NULL,NULL,'{"gate":"pass"}','cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc','dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd','1ce386fe7265aebde92763c965f1dad406bcb3e626941111a08b36edc9787267','9e44bd1b2502db23b2da6003f1b41249bcc6fc7fcde1eff01fda198084323a65',NULL,NULL);
INSERT INTO run VALUES(2,'run_open','key of run_open','running','unknown','a69c266a3e65905906fa9c4613edb3d73c582aad0bef356f72ee0c2c3fb9bf02','e5872ae66d8c6c3f97626e6d31c2bdbff5268ff3b8b3b32b316e84f3bee3b33a',2,2,4,4,8,4000,'/somewhere','human:someone',1795319855666,1795319855699,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE run_head (
  run_no integer primary key references run (run_no) deferrable initially deferred,
  event_count integer not null,
  event_hash text not null
) strict;
INSERT INTO run_head VALUES(1,12,'17795a3981838aceb73917bb0408ab671c356483de636f745a4518a696120bf0');
INSERT INTO run_head VALUES(2,8,'b5c4429f6ed56bd4798b28016b9d4529461ac1cfaf23ca750d5476f97c6897bd');
CREATE TABLE run_stat (
  run_no integer not null,
  kind text not null,
  n integer not null,
  primary key (run_no, kind)
) strict, without rowid;
INSERT INTO run_stat VALUES(1,'attempts',4);
INSERT INTO run_stat VALUES(1,'completed',4);
INSERT INTO run_stat VALUES(1,'passed',4);
INSERT INTO run_stat VALUES(1,'pending',0);
INSERT INTO run_stat VALUES(1,'running',0);
INSERT INTO run_stat VALUES(2,'attempts',3);
INSERT INTO run_stat VALUES(2,'completed',1);
INSERT INTO run_stat VALUES(2,'passed',1);
INSERT INTO run_stat VALUES(2,'pending',1);
INSERT INTO run_stat VALUES(2,'retry_scheduled',1);
INSERT INTO run_stat VALUES(2,'running',1);
CREATE TABLE worker_session (
  session_no integer primary key,
  session_id text not null unique,
  worker text not null,
  host text not null,
  boot_id text not null,
  pid integer not null,
  process_start text not null,
  started_at integer not null,
  last_seen_at integer not null,
  ended_at integer
) strict;
INSERT INTO worker_session VALUES(1,'wse_1','worker wse_1','host','boot',4711,'1',1795319855657,1795319855657,NULL);
INSERT INTO worker_session VALUES(2,'wse_2','worker wse_2','host','boot',4711,'1',1795319855658,1795319855658,NULL);
CREATE TABLE execution (
  run_no integer not null references run (run_no) deferrable initially deferred,
  ordinal integer not null,
  case_id text not null,
  repeat integer not null check (repeat > 0),
  case_content text not null,
  cluster text,
  primary key (run_no, ordinal)
) strict, without rowid;
INSERT INTO execution VALUES(1,0,'case-0000',1,'a498b205967dedc035184184f63fa8f874852988c2f387121bbad6ab8461b17e',NULL);
INSERT INTO execution VALUES(1,1,'case-0000',2,'a498b205967dedc035184184f63fa8f874852988c2f387121bbad6ab8461b17e',NULL);
INSERT INTO execution VALUES(1,2,'case-0001',1,'3ed2167cd9f594fc94105aaf25c1878115597234ce955eced0b8887d1938d034',NULL);
INSERT INTO execution VALUES(1,3,'case-0001',2,'3ed2167cd9f594fc94105aaf25c1878115597234ce955eced0b8887d1938d034',NULL);
INSERT INTO execution VALUES(2,0,'case-0000',1,'a498b205967dedc035184184f63fa8f874852988c2f387121bbad6ab8461b17e',NULL);
INSERT INTO execution VALUES(2,1,'case-0000',2,'a498b205967dedc035184184f63fa8f874852988c2f387121bbad6ab8461b17e',NULL);
INSERT INTO execution VALUES(2,2,'case-0001',1,'3ed2167cd9f594fc94105aaf25c1878115597234ce955eced0b8887d1938d034',NULL);
INSERT INTO execution VALUES(2,3,'case-0001',2,'3ed2167cd9f594fc94105aaf25c1878115597234ce955eced0b8887d1938d034',NULL);
CREATE TABLE queue (
  run_no integer not null,
  ordinal integer not null,
  status text not null check (status in ('pending', 'running', 'retry_scheduled', 'waiting')),
  order_key integer not null,
  available_at integer not null,
  attempt integer not null default 0,
  agent_failures integer not null default 0,
  infrastructure_failures integer not null default 0,
  grader_failures integer not null default 0,
  lease_losses integer not null default 0,
  lease_id text,
  session_no integer,
  lease_until integer,
  primary key (run_no, ordinal),
  foreign key (run_no, ordinal) references execution (run_no, ordinal) deferrable initially deferred,
  check ((status = 'running') = (lease_id is not null and lease_until is not null and session_no is not null))
) strict, without rowid;
INSERT INTO queue VALUES(2,0,'retry_scheduled',0,1795319856706,1,0,1,0,0,NULL,NULL,NULL);
INSERT INTO queue VALUES(2,2,'running',2000,0,1,0,0,0,0,'cccmnqdtmt7zh8gw',1,1795319885700);
INSERT INTO queue VALUES(2,3,'pending',3000,0,0,0,0,0,0,NULL,NULL,NULL);
CREATE TABLE attempt (
  run_no integer not null,
  ordinal integer not null,
  attempt integer not null check (attempt > 0),
  session_no integer not null references worker_session (session_no) deferrable initially deferred,
  lease_id text not null,
  status text not null,
  started_at integer not null,
  ended_at integer,
  reason text,
  fault text,
  evidence_count integer,
  seal text,
  primary key (run_no, ordinal, attempt),
  foreign key (run_no, ordinal) references execution (run_no, ordinal) deferrable initially deferred,
  check ((ended_at is null) = (seal is null)),
  check ((ended_at is null) = (status in ('running', 'suspended')))
) strict, without rowid;
INSERT INTO attempt VALUES(1,0,1,1,'mw0t71ck625pjaqr','completed',1795319855684,1795319855694,NULL,NULL,2,'b3563fffa55210f09a2e4f0954b9e80f6633e23b11b9b05783992f02b065fbdc');
INSERT INTO attempt VALUES(1,1,1,1,'mw0t71ck625pjaqr','completed',1795319855684,1795319855694,NULL,NULL,2,'dea4715eceb77980ab4ff5a48d217c8f7ad33991cd9eba595620f824445b6952');
INSERT INTO attempt VALUES(1,2,1,1,'mw0t71ck625pjaqr','completed',1795319855684,1795319855694,NULL,NULL,2,'b2218bcf1d68c9590daf83e40a7031fb9ea0ef3f2028bc3517efea078155758c');
INSERT INTO attempt VALUES(1,3,1,1,'mw0t71ck625pjaqr','completed',1795319855684,1795319855694,NULL,NULL,2,'31b8eb8b173379ee81e67d6a93db021f9139d756e7c5f352b792c58cc0a66368');
INSERT INTO attempt VALUES(2,0,1,1,'cccmnqdtmt7zh8gw','failed_agent_call',1795319855700,1795319855706,'connection_refused','infrastructure',1,'7a3e6c0ae4d178f089f6770d49aca4a6a9cc5e7dda38304a77930f2c9ac5e764');
INSERT INTO attempt VALUES(2,1,1,1,'cccmnqdtmt7zh8gw','completed',1795319855700,1795319855721,NULL,NULL,2,'13c8495c76bf715aa9e60eb08394b46afea2c24876fa1972914d0ed1bfcbefd3');
INSERT INTO attempt VALUES(2,2,1,1,'cccmnqdtmt7zh8gw','running',1795319855700,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE evidence (
  run_no integer not null,
  ordinal integer not null,
  attempt integer not null,
  seq integer not null check (seq > 0),
  kind text not null check (kind in ('envelope', 'evaluator_result', 'failure')),
  body text not null,
  artifact text,
  hash text not null,
  primary key (run_no, ordinal, attempt, seq)
) strict, without rowid;
INSERT INTO evidence VALUES(1,0,1,1,'envelope','{"envelope":{"text":"answer 0"}}',NULL,'8e1abf02b781315e07bf41d84b02b21ca4f7af57ddf9da1d28c7db10737688e0');
INSERT INTO evidence VALUES(1,0,1,2,'evaluator_result','{"reason":"finding 0"}',NULL,'8433a7b9aeaacf5557df160a62a281c0c5e8615d0ec21af0d19619bba106ab7c');
INSERT INTO evidence VALUES(1,1,1,1,'envelope','{"envelope":{"text":"answer 1"}}',NULL,'de805828ced253ede16604ea5e03f77af2982567b4f9496482f822ba4aca43c0');
INSERT INTO evidence VALUES(1,1,1,2,'evaluator_result','{"reason":"finding 1"}',NULL,'5f7e1637b9e1493730ce33ae7ec14602b4c2db8c102adf16b2d0717904451dd1');
INSERT INTO evidence VALUES(1,2,1,1,'envelope','{"envelope":{"text":"answer 2"}}',NULL,'795480c7f71f17741ca957229fab3017b6d9ce48a8364d39023d441ee4577927');
INSERT INTO evidence VALUES(1,2,1,2,'evaluator_result','{"reason":"finding 2"}',NULL,'d562e0ec57d599184f4bea1b1f6144f4b0d6c548c8ac7c1caecca16a6caef067');
INSERT INTO evidence VALUES(1,3,1,1,'envelope','{"envelope":{"text":"answer 3"}}',NULL,'ebf92fb85cb2b9407622862a62bdd2a08e623fe14c2207833b79f4bc752e7ba8');
INSERT INTO evidence VALUES(1,3,1,2,'evaluator_result','{"reason":"finding 3"}',NULL,'5d4c36b80d936b7089dcfbd211a563ab04e027aeec0ca1caa67f42427fb4c203');
INSERT INTO evidence VALUES(2,0,1,1,'failure','{"message":"refused"}',NULL,'ceda17f1b458145ea8eacd3a931353800a000af22ef51f773a778a47b363273d');
INSERT INTO evidence VALUES(2,1,1,1,'envelope','{"envelope":{"text":"answer 1"}}',NULL,'592a098aa9aa8e6a9d2d242a53c842e3ff2c40dd354e9d8d0070ec2766e6cbb9');
INSERT INTO evidence VALUES(2,1,1,2,'evaluator_result','{"reason":"finding 1"}',NULL,'47a9bbd2cfd22108fca8e60ab4dc0fef067063f006087689b05fd1c2f2dd1319');
INSERT INTO evidence VALUES(2,2,1,1,'evaluator_result','{"reason":"one"}',NULL,'a3e9f756706bcd7838735492a9ac3bdee16637c29f9c89fda717e35239943d30');
INSERT INTO evidence VALUES(2,2,1,2,'evaluator_result','{"reason":"two"}',NULL,'475cd8ec9fbec5f86e232fd6f9b5adb0a5bd956e5d2e1667ac65085a4996f6fa');
CREATE TABLE result (
  run_no integer not null,
  ordinal integer not null,
  attempt integer not null,
  status text not null check (status in ('completed', 'failed', 'timed_out', 'cancelled')),
  fault text check (fault in ('infrastructure', 'agent', 'grader', 'policy', 'cancelled')),
  passed integer not null check (passed in (0, 1)),
  aggregate text,
  content text not null,
  finished_at integer not null,
  hash text not null,
  primary key (run_no, ordinal)
) strict, without rowid;
INSERT INTO result VALUES(1,0,1,'completed',NULL,1,'{"score":1}','78e2725081b12d2395d9c5aa73b4be3e379120d0ff2a511102d4d863598c72a7',1795319855694,'12218c299de36983246410522539e9a5f516c09df1943cdfca2a652ed5fbcc5e');
INSERT INTO result VALUES(1,1,1,'completed',NULL,1,'{"score":1}','c76567e3f1c023669b79cc75586f063f9a3efc5165c1297dfb73c58cae3faa9e',1795319855694,'adc3ca097d88b71680747172a4d3e2124d6292ca8e6bc35518ac5bd5ab6bd6f4');
INSERT INTO result VALUES(1,2,1,'completed',NULL,1,'{"score":1}','310b9ed4b230ee84cd5c9ee54d156106e6b7abb23559b0494e1e202d483f4559',1795319855694,'fdc13a70c586a91e4232ac03069b2c6532a0accb70cfd440926935fd96aed9f5');
INSERT INTO result VALUES(1,3,1,'completed',NULL,1,'{"score":1}','f58899527213d1dbcb7c0f097e39eb6f6db47a56e5d604b22405ade26e2f5627',1795319855694,'db6e2563017504ed898a013eb5d111118a6f1f4a29ffd8eae10ab363ff09059b');
INSERT INTO result VALUES(2,1,1,'completed',NULL,1,'{"score":1}','c76567e3f1c023669b79cc75586f063f9a3efc5165c1297dfb73c58cae3faa9e',1795319855721,'ea86b91fdc55ae220b48b736d0b57a468e9c4a88b23073e567ff104d0310c604');
CREATE TABLE late_evidence (
  run_no integer not null references run (run_no) deferrable initially deferred,
  late_seq integer not null,
  ordinal integer not null,
  attempt integer not null,
  lease_id text not null,
  verb text not null,
  body text not null,
  received_at integer not null,
  hash text not null,
  primary key (run_no, late_seq)
) strict, without rowid;
INSERT INTO late_evidence VALUES(2,1,0,1,'cccmnqdtmt7zh8gw','complete','[{"artifact":null,"body":"{\"envelope\":{\"text\":\"answer 0\"}}","kind":"envelope"},{"artifact":null,"body":"{\"reason\":\"finding 0\"}","kind":"evaluator_result"}]',1795319855713,'330c16885a119559169cb04099a1eb9dffc7ef4e4d637060b6a9c2a2717d2a2d');
CREATE TABLE event (
  position integer primary key,
  run_no integer not null references run (run_no) deferrable initially deferred,
  seq integer not null,
  type text not null,
  at integer not null,
  ordinal integer,
  attempt integer,
  body text,
  hash text not null
) strict;
INSERT INTO event VALUES(1,1,1,'run_created',1795319855665,NULL,NULL,'{"base_dir":"/somewhere","cases":2,"concurrency":8,"created_by":"human:someone","plan_digest":"3780746b4a23a453d84a1948705535ac45281c9262fa4c551b7ea82b997f11a2","repeats":2,"run_key":"key of run_done","snapshot_digest":"1007255b857279e811fd3c049aa2a886dc8d44062038dd4f3d49a82814d178d3","total":4}','c4ff9ddcafef1920bbbfdd475fb149c79ced91fd6eade5f04ffcade3243a9d8d');
INSERT INTO event VALUES(2,2,1,'run_created',1795319855666,NULL,NULL,'{"base_dir":"/somewhere","cases":2,"concurrency":8,"created_by":"human:someone","plan_digest":"e5872ae66d8c6c3f97626e6d31c2bdbff5268ff3b8b3b32b316e84f3bee3b33a","repeats":2,"run_key":"key of run_open","snapshot_digest":"a69c266a3e65905906fa9c4613edb3d73c582aad0bef356f72ee0c2c3fb9bf02","total":4}','d6f1d48bdb621551a9d2e729e36c801e040d613867295a70c63f413757d2ea8a');
INSERT INTO event VALUES(3,1,2,'run_started',1795319855682,NULL,NULL,NULL,'f2f8767d6d8bd34b14f30cf763849bf082b7660f39efb06b2e214a5f5a5cee6a');
INSERT INTO event VALUES(4,1,3,'attempt_started',1795319855684,0,1,NULL,'98cafa1181a42bdf07c72b4d125c2715960ca75d980ad87034befca163075728');
INSERT INTO event VALUES(5,1,4,'attempt_started',1795319855684,1,1,NULL,'aee9051a2413cd4e3d4501617bcc3d95c8fcbe0eeb6dcbe44d8333e64e7da522');
INSERT INTO event VALUES(6,1,5,'attempt_started',1795319855684,2,1,NULL,'cf4029b590164c258756986c978195271929dc1fdf6f8167687b8c1b5db45430');
INSERT INTO event VALUES(7,1,6,'attempt_started',1795319855684,3,1,NULL,'32a640b6e2dfe389346ecc847172d63dc3eceb3bc1835cf48ace4d55118cdeb2');
INSERT INTO event VALUES(8,1,7,'execution_finished',1795319855694,0,1,'{"fault":null,"passed":true,"result":"12218c299de36983246410522539e9a5f516c09df1943cdfca2a652ed5fbcc5e","status":"completed"}','f0123f5ba5b7ab2313afbcf9cc92f20e7097418d73f161d540bfaa7db7b07677');
INSERT INTO event VALUES(9,1,8,'execution_finished',1795319855694,1,1,'{"fault":null,"passed":true,"result":"adc3ca097d88b71680747172a4d3e2124d6292ca8e6bc35518ac5bd5ab6bd6f4","status":"completed"}','76c0e05bd3da0615cdd9a61313c3401cc3c7a8efaf78c0a1b6ab5ec3c771cabb');
INSERT INTO event VALUES(10,1,9,'execution_finished',1795319855694,2,1,'{"fault":null,"passed":true,"result":"fdc13a70c586a91e4232ac03069b2c6532a0accb70cfd440926935fd96aed9f5","status":"completed"}','5269131d8f4e22387fb5d560216a4e438725ebbd24dcdc01b171fd67806a4c73');
INSERT INTO event VALUES(11,1,10,'execution_finished',1795319855694,3,1,'{"fault":null,"passed":true,"result":"db6e2563017504ed898a013eb5d111118a6f1f4a29ffd8eae10ab363ff09059b","status":"completed"}','f800730ce8bc11ad231c834c45cec535a0be042e2115d8179e50989043714ee9');
INSERT INTO event VALUES(12,1,11,'run_finalizing',1795319855696,NULL,NULL,NULL,'9e44bd1b2502db23b2da6003f1b41249bcc6fc7fcde1eff01fda198084323a65');
INSERT INTO event VALUES(13,1,12,'run_completed',1795319855698,NULL,NULL,'{"content_digest":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","evidence_root":"1ce386fe7265aebde92763c965f1dad406bcb3e626941111a08b36edc9787267","gate_status":"pass","run_id":"run_done"}','17795a3981838aceb73917bb0408ab671c356483de636f745a4518a696120bf0');
INSERT INTO event VALUES(14,2,2,'run_started',1795319855699,NULL,NULL,NULL,'f975f6ed7c6ed998bc99015fd7088b93674ef27b2e804b6c119b1a538e6530ad');
INSERT INTO event VALUES(15,2,3,'attempt_started',1795319855700,0,1,NULL,'4223960814174e0e12f01b3cc01091450c732b3b7307b2172333ee00921e5729');
INSERT INTO event VALUES(16,2,4,'attempt_started',1795319855700,1,1,NULL,'dcafb1dea65c58b8d2ed6570273830175a87fc90b9932d633a071c083be455d7');
INSERT INTO event VALUES(17,2,5,'attempt_started',1795319855700,2,1,NULL,'57d02df95f79b828073e974c42a60d1c002273f7f74ebdc46704e75b053410e7');
INSERT INTO event VALUES(18,2,6,'attempt_finished',1795319855706,0,1,'{"fault":"infrastructure","reason":"connection_refused","status":"failed_agent_call"}','84ddbbdff57549d0d82e433dfd69c19fc88cb5a06cd2708ab27eeafc06a3b5b7');
INSERT INTO event VALUES(19,2,7,'late_evidence',1795319855713,0,1,'{"late":"330c16885a119559169cb04099a1eb9dffc7ef4e4d637060b6a9c2a2717d2a2d","late_seq":1,"verb":"complete"}','d0ff62ba9600614c46c72663c99b022b473ed23f232c5dac8459b8ebedd2f2ef');
INSERT INTO event VALUES(20,2,8,'execution_finished',1795319855721,1,1,'{"fault":null,"passed":true,"result":"ea86b91fdc55ae220b48b736d0b57a468e9c4a88b23073e567ff104d0310c604","status":"completed"}','b5c4429f6ed56bd4798b28016b9d4529461ac1cfaf23ca750d5476f97c6897bd');
CREATE TABLE outbox (
  outbox_no integer primary key,
  run_no integer not null references run (run_no) deferrable initially deferred,
  dedupe_key text not null unique,
  type text not null,
  body text not null,
  created_at integer not null
) strict;
INSERT INTO outbox VALUES(1,1,'run:run_done:final','run_completed','{"content_digest":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","evidence_root":"1ce386fe7265aebde92763c965f1dad406bcb3e626941111a08b36edc9787267","gate_status":"pass","run_id":"run_done"}',1795319855698);
CREATE TABLE delivery (
  outbox_no integer not null references outbox (outbox_no) deferrable initially deferred,
  endpoint text not null,
  status text not null,
  attempts integer not null default 0,
  next_at integer not null,
  lease_id text,
  lease_until integer,
  last_status integer, last_error text,
  primary key (outbox_no, endpoint)
) strict, without rowid;
INSERT INTO delivery VALUES(1,'https://one.example','pending',0,0,NULL,NULL,NULL,NULL);
INSERT INTO delivery VALUES(1,'https://two.example','pending',0,0,NULL,NULL,NULL,NULL);
CREATE TABLE blessing (
  blessing_no integer primary key,
  profile_id text not null,
  run_no integer not null references run (run_no) deferrable initially deferred,
  blessed_by text not null,
  blessed_at integer not null
) strict;
INSERT INTO blessing VALUES(1,'one',1,'human:me',0);
INSERT INTO blessing VALUES(2,'two',1,'human:me',0);
CREATE TABLE budget (
  run_no integer not null references run (run_no) deferrable initially deferred,
  kind text not null check (kind in ('cost_micro_usd', 'tokens', 'tool_calls')),
  cap integer not null check (cap > 0),
  reserve integer check (reserve > 0),
  highest integer not null default 0,
  answers integer not null default 0,
  primary key (run_no, kind)
) strict, without rowid;
INSERT INTO budget VALUES(1,'tokens',10,NULL,0,0);
INSERT INTO budget VALUES(1,'tool_calls',10,NULL,0,0);
CREATE TABLE correction (
  run_no integer not null references run (run_no) deferrable initially deferred,
  revision integer not null check (revision > 0),
  ordinal integer not null,
  result text not null check (json_valid(result)),
  aggregate text not null check (json_valid(aggregate)),
  verdict text not null check (json_valid(verdict)),
  principal text not null,
  corrected_at integer not null,
  hash text not null,
  primary key (run_no, revision)
) strict, without rowid;
INSERT INTO correction VALUES(1,1,0,'{}','{}','{}','human:me',0,'');
INSERT INTO correction VALUES(1,2,0,'{}','{}','{}','human:me',0,'');
CREATE INDEX run_active on run (run_no) where status in ('pending', 'running', 'finalizing');
CREATE INDEX worker_session_live on worker_session (last_seen_at) where ended_at is null;
CREATE UNIQUE INDEX execution_case on execution (run_no, case_id, repeat);
CREATE INDEX queue_pending on queue (run_no, order_key, ordinal) where status = 'pending';
CREATE INDEX queue_retry on queue (run_no, available_at) where status = 'retry_scheduled';
CREATE INDEX queue_lost on queue (run_no, lease_losses, available_at) where status = 'retry_scheduled' and lease_losses > 0;
CREATE INDEX queue_waiting on queue (run_no, available_at) where status = 'waiting';
CREATE INDEX queue_running on queue (run_no, session_no, lease_losses) where status = 'running';
CREATE INDEX result_not_passed on result (run_no, ordinal) where passed = 0;
CREATE UNIQUE INDEX event_seq on event (run_no, seq);
CREATE VIEW evaluator_result as
select r.run_id, e.ordinal, x.case_id, x.repeat, e.attempt, e.seq,
  e.body ->> '$.ref' as ref, e.body ->> '$.dimension' as dimension, e.body ->> '$.status' as status,
  e.body ->> '$.severity' as severity, e.body ->> '$.score' as score, e.body ->> '$.reason' as reason
from evidence e
join run r on r.run_no = e.run_no
join execution x on x.run_no = e.run_no and x.ordinal = e.ordinal
where e.kind = 'evaluator_result' and e.artifact is null;
CREATE INDEX blessing_profile on blessing (profile_id, blessing_no);
CREATE INDEX delivery_due on delivery (next_at) where status in ('pending', 'failed');
CREATE INDEX delivery_open on delivery (endpoint, outbox_no) where status in ('pending', 'failed');
CREATE TRIGGER state_transition_no_update before update on state_transition begin
  select raise(abort, 'proctor: state_transition is append-only, update is refused');
end;
CREATE TRIGGER state_transition_no_delete before delete on state_transition begin
  select raise(abort, 'proctor: state_transition is append-only, delete is refused');
end;
CREATE TRIGGER state_transition_no_replace before insert on state_transition when exists (select 1 from state_transition where machine = new.machine and from_state = new.from_state and to_state = new.to_state) begin
  select raise(abort, 'proctor: state_transition has this row already, it cannot be replaced');
end;
CREATE TRIGGER snapshot_no_update before update on snapshot begin
  select raise(abort, 'proctor: snapshot is append-only, update is refused');
end;
CREATE TRIGGER snapshot_no_delete before delete on snapshot begin
  select raise(abort, 'proctor: snapshot is append-only, delete is refused');
end;
CREATE TRIGGER snapshot_no_replace before insert on snapshot when exists (select 1 from snapshot where digest = new.digest) begin
  select raise(abort, 'proctor: snapshot has this row already, it cannot be replaced');
end;
CREATE TRIGGER execution_no_update before update on execution begin
  select raise(abort, 'proctor: execution is append-only, update is refused');
end;
CREATE TRIGGER execution_no_delete before delete on execution begin
  select raise(abort, 'proctor: execution is append-only, delete is refused');
end;
CREATE TRIGGER execution_no_replace before insert on execution when exists (select 1 from execution where run_no = new.run_no and ordinal = new.ordinal) or exists (select 1 from execution where run_no = new.run_no and case_id = new.case_id and repeat = new.repeat) begin
  select raise(fail, 'proctor: execution has this row already, it cannot be replaced');
end;
CREATE TRIGGER evidence_no_update before update on evidence begin
  select raise(abort, 'proctor: evidence is append-only, update is refused');
end;
CREATE TRIGGER evidence_no_delete before delete on evidence begin
  select raise(abort, 'proctor: evidence is append-only, delete is refused');
end;
CREATE TRIGGER result_no_update before update on result begin
  select raise(abort, 'proctor: result is append-only, update is refused');
end;
CREATE TRIGGER result_no_delete before delete on result begin
  select raise(abort, 'proctor: result is append-only, delete is refused');
end;
CREATE TRIGGER late_evidence_no_update before update on late_evidence begin
  select raise(abort, 'proctor: late_evidence is append-only, update is refused');
end;
CREATE TRIGGER late_evidence_no_delete before delete on late_evidence begin
  select raise(abort, 'proctor: late_evidence is append-only, delete is refused');
end;
CREATE TRIGGER late_evidence_no_replace before insert on late_evidence when exists (select 1 from late_evidence where run_no = new.run_no and late_seq = new.late_seq) begin
  select raise(abort, 'proctor: late_evidence has this row already, it cannot be replaced');
end;
CREATE TRIGGER event_no_update before update on event begin
  select raise(abort, 'proctor: event is append-only, update is refused');
end;
CREATE TRIGGER event_no_delete before delete on event begin
  select raise(abort, 'proctor: event is append-only, delete is refused');
end;
CREATE TRIGGER blessing_no_update before update on blessing begin
  select raise(abort, 'proctor: blessing is append-only, update is refused');
end;
CREATE TRIGGER blessing_no_delete before delete on blessing begin
  select raise(abort, 'proctor: blessing is append-only, delete is refused');
end;
CREATE TRIGGER blessing_no_replace before insert on blessing when exists (select 1 from blessing where blessing_no = new.blessing_no) begin
  select raise(abort, 'proctor: blessing has this row already, it cannot be replaced');
end;
CREATE TRIGGER correction_no_update before update on correction begin
  select raise(abort, 'proctor: correction is append-only, update is refused');
end;
CREATE TRIGGER correction_no_delete before delete on correction begin
  select raise(abort, 'proctor: correction is append-only, delete is refused');
end;
CREATE TRIGGER correction_no_replace before insert on correction when exists (select 1 from correction where run_no = new.run_no and revision = new.revision) begin
  select raise(abort, 'proctor: correction has this row already, it cannot be replaced');
end;
CREATE TRIGGER outbox_no_update before update on outbox begin
  select raise(abort, 'proctor: outbox is append-only, update is refused');
end;
CREATE TRIGGER outbox_no_delete before delete on outbox begin
  select raise(abort, 'proctor: outbox is append-only, delete is refused');
end;
CREATE TRIGGER outbox_no_replace before insert on outbox when exists (select 1 from outbox where outbox_no = new.outbox_no) or exists (select 1 from outbox where dedupe_key = new.dedupe_key) begin
  select raise(abort, 'proctor: outbox has this row already, it cannot be replaced');
end;
CREATE TRIGGER run_no_delete before delete on run begin
  select raise(abort, 'proctor: run is append-only, delete is refused');
end;
CREATE TRIGGER run_no_replace before insert on run when exists (select 1 from run where run_no = new.run_no) or exists (select 1 from run where run_id = new.run_id) or exists (select 1 from run where run_key = new.run_key) begin
  select raise(abort, 'proctor: run has this row already, it cannot be replaced');
end;
CREATE TRIGGER run_head_no_delete before delete on run_head begin
  select raise(abort, 'proctor: run_head is append-only, delete is refused');
end;
CREATE TRIGGER run_head_no_replace before insert on run_head when exists (select 1 from run_head where run_no = new.run_no) begin
  select raise(abort, 'proctor: run_head has this row already, it cannot be replaced');
end;
CREATE TRIGGER attempt_no_delete before delete on attempt begin
  select raise(abort, 'proctor: attempt is append-only, delete is refused');
end;
CREATE TRIGGER worker_session_no_delete before delete on worker_session begin
  select raise(abort, 'proctor: worker_session is append-only, delete is refused');
end;
CREATE TRIGGER worker_session_no_replace before insert on worker_session when exists (select 1 from worker_session where session_no = new.session_no) or exists (select 1 from worker_session where session_id = new.session_id) begin
  select raise(abort, 'proctor: worker_session has this row already, it cannot be replaced');
end;
CREATE TRIGGER delivery_no_delete before delete on delivery begin
  select raise(abort, 'proctor: delivery is append-only, delete is refused');
end;
CREATE TRIGGER delivery_no_replace before insert on delivery when exists (select 1 from delivery where outbox_no = new.outbox_no and endpoint = new.endpoint) begin
  select raise(abort, 'proctor: delivery has this row already, it cannot be replaced');
end;
CREATE TRIGGER budget_no_delete before delete on budget begin
  select raise(abort, 'proctor: budget is append-only, delete is refused');
end;
CREATE TRIGGER budget_no_replace before insert on budget when exists (select 1 from budget where run_no = new.run_no and kind = new.kind) begin
  select raise(abort, 'proctor: budget has this row already, it cannot be replaced');
end;
CREATE TRIGGER state_transition_no_insert before insert on state_transition begin
  select raise(abort, 'proctor: the transition table is seeded once');
end;
CREATE TRIGGER run_transition before update of status on run
when old.status <> new.status and not exists (
  select 1 from state_transition where machine = 'run' and from_state = old.status and to_state = new.status
) begin
  select raise(abort, 'proctor: illegal transition of run.status');
end;
CREATE TRIGGER queue_transition before update of status, attempt on queue begin
  select case
    when old.status <> new.status and not exists (
      select 1 from state_transition where machine = 'execution' and from_state = old.status and to_state = new.status
    ) then raise(fail, 'proctor: illegal transition of queue.status')
    when new.attempt <> old.attempt and not (new.attempt = old.attempt + 1 and old.status in ('pending', 'retry_scheduled') and new.status = 'running') then raise(fail, 'proctor: an attempt is counted by a claim only')
  end;
end;
CREATE TRIGGER queue_starts_pending before insert on queue begin
  select case
    when new.status <> 'pending' or new.attempt <> 0
      or exists (select 1 from result where run_no = new.run_no and ordinal = new.ordinal)
      or exists (select 1 from queue where run_no = new.run_no and ordinal = new.ordinal) then raise(fail, 'proctor: an execution is queued once, pending')
  end;
end;
CREATE TRIGGER attempt_opens before insert on attempt begin
  select case
    when new.status <> 'running' or not exists (
      select 1 from queue where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and lease_id = new.lease_id and status = 'running'
    ) then raise(fail, 'proctor: an attempt opens with a claim only')
    when exists (select 1 from attempt where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt) then raise(fail, 'proctor: attempt has this row already, it cannot be replaced')
  end;
end;
CREATE TRIGGER attempt_changes before update on attempt begin
  select case
    when old.ended_at is not null then raise(fail, 'proctor: an ended attempt does not change')
    when old.status <> new.status and not exists (
      select 1 from state_transition where machine = 'attempt' and from_state = old.status and to_state = new.status
    ) then raise(fail, 'proctor: illegal transition of attempt.status')
  end;
end;
CREATE TRIGGER attempt_frozen before update of run_no, ordinal, attempt, started_at, session_no, lease_id on attempt
when new.run_no <> old.run_no or new.ordinal <> old.ordinal or new.attempt <> old.attempt or new.started_at <> old.started_at
  or (old.status <> 'suspended' and (new.session_no <> old.session_no or new.lease_id <> old.lease_id)) begin
  select raise(abort, 'proctor: what an attempt was opened with does not change');
end;
CREATE TRIGGER evidence_appends before insert on evidence begin
  select case
    when new.seq <> 1 + coalesce((select max(seq) from evidence where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt), 0) then raise(fail, 'proctor: evidence is appended in order, each row once')
    when not exists (select 1 from attempt where run_no = new.run_no and ordinal = new.ordinal and attempt = new.attempt and ended_at is null) then raise(fail, 'proctor: evidence is appended to an open attempt only')
  end;
end;
CREATE TRIGGER event_appends before insert on event begin
  select case
    when new.seq <> 1 + coalesce((select max(seq) from event where run_no = new.run_no), 0) then raise(fail, 'proctor: events are appended in order, each once')
    when exists (select 1 from event where position = new.position) then raise(fail, 'proctor: event has this row already, it cannot be replaced')
  end;
end;
CREATE TRIGGER result_ends before insert on result begin
  select case
    when exists (select 1 from result where run_no = new.run_no and ordinal = new.ordinal) then raise(fail, 'proctor: result has this row already, it cannot be replaced')
    when not exists (
      select 1 from queue q join state_transition t on t.machine = 'execution' and t.from_state = q.status and t.to_state = new.status
      where q.run_no = new.run_no and q.ordinal = new.ordinal and q.attempt = new.attempt
    ) then raise(fail, 'proctor: a result ends an execution of the queue by a legal transition only')
  end;
end;
CREATE TRIGGER queue_ends_with_result before delete on queue begin
  select case
    when not exists (select 1 from result where run_no = old.run_no and ordinal = old.ordinal) then raise(fail, 'proctor: an execution leaves the queue with its result only')
  end;
end;
CREATE TRIGGER delivery_transition before update of status on delivery
when old.status <> new.status and not exists (
  select 1 from state_transition where machine = 'delivery' and from_state = old.status and to_state = new.status
) begin
  select raise(abort, 'proctor: illegal transition of delivery.status');
end;
CREATE TRIGGER run_starts_pending before insert on run when new.status <> 'pending' or new.gate_status <> 'unknown' begin
  select raise(abort, 'proctor: a run starts pending with gate unknown');
end;
CREATE TRIGGER run_final before update on run when old.finished_at is not null begin
  select raise(abort, 'proctor: an ended run does not change');
end;
CREATE TRIGGER run_frozen before update on run when
  new.run_no <> old.run_no or new.run_id <> old.run_id or new.run_key is not old.run_key or new.snapshot_digest <> old.snapshot_digest
  or new.plan_digest <> old.plan_digest or new.cases <> old.cases or new.repeats <> old.repeats or new.total <> old.total
  or new.base_dir <> old.base_dir or new.created_by <> old.created_by or new.created_at <> old.created_at
  or new.materialized < old.materialized or (old.started_at is not null and new.started_at is not old.started_at) begin
  select raise(abort, 'proctor: what a run was created with does not change');
end;
CREATE TRIGGER run_stops_once before update of stop_reason, stop_after on run
when old.stop_reason is not null and (new.stop_reason is not old.stop_reason or new.stop_after is not old.stop_after) begin
  select raise(abort, 'proctor: why a run stopped does not change');
end;
CREATE TRIGGER run_head_forward before update on run_head when new.run_no <> old.run_no or new.event_count <= old.event_count begin
  select raise(abort, 'proctor: the event head only moves forward');
end;
CREATE TRIGGER worker_session_frozen before update of session_no, session_id, worker, host, boot_id, pid, process_start, started_at on worker_session when new.session_no is not old.session_no or new.session_id is not old.session_id or new.worker is not old.worker or new.host is not old.host or new.boot_id is not old.boot_id or new.pid is not old.pid or new.process_start is not old.process_start or new.started_at is not old.started_at begin
  select raise(abort, 'proctor: what a row of worker_session was created with does not change');
end;
CREATE TRIGGER queue_frozen before update of run_no, ordinal on queue when new.run_no is not old.run_no or new.ordinal is not old.ordinal begin
  select raise(abort, 'proctor: what a row of queue was created with does not change');
end;
CREATE TRIGGER delivery_frozen before update of outbox_no, endpoint on delivery when new.outbox_no is not old.outbox_no or new.endpoint is not old.endpoint begin
  select raise(abort, 'proctor: what a row of delivery was created with does not change');
end;
CREATE TRIGGER budget_frozen before update of run_no, kind, cap, reserve on budget when new.run_no is not old.run_no or new.kind is not old.kind or new.cap is not old.cap or new.reserve is not old.reserve begin
  select raise(abort, 'proctor: what a row of budget was created with does not change');
end;
CREATE TRIGGER delivery_starts_pending before insert on delivery when new.status <> 'pending' begin
  select raise(abort, 'proctor: a delivery starts pending');
end;
COMMIT;
