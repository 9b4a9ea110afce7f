import { beforeAll, describe, expect, test } from 'vitest';
import { loadSql, readSql } from '../../../src/adapters/sql/index.ts';
import type { SqlDialect } from '../../../src/contract/sql.ts';

const read = (text: string, dialect: SqlDialect = 'postgresql') =>
  readSql(text, dialect)?.map(({ kinds, reads, writes, functions }) =>
    [kinds.join(), reads.join(), writes.join(), functions.join()].join(' | ').trimEnd(),
  ) ?? null;

test('before the parser is loaded, nothing can be told', () => {
  expect(readSql('select 1', 'postgresql')).toBeNull();
});

describe('what statements do', () => {
  beforeAll(async () => {
    await loadSql();
    await loadSql();
  });

  test.each([
    ['select a from t where x = 1', 'select | t |  |'],
    ['SELECT * FROM Public.Orders o', 'select | public.orders |  |'],
    ['select * from "Orders"', 'select | Orders |  |'],
    ['values (1), (2)', 'select |  |  |'],
    ['select 1 union select a from b', 'select | b |  |'],
    ['select * from (t join u using (x)), lateral (select 1 from w) z', 'select | t,u,w |  |'],
    [
      'select (select 1 from a), exists (select 2 from b), x in (select 3 from c), array(select 4 from d)',
      'select | a,b,c,d |  |',
    ],
    ['select 1 from a order by (select 2 from b) limit (select 3 from c)', 'select | a,b,c |  |'],
    ['select count(*) filter (where x in (select y from u)) over (partition by z) from t', 'select | t,u |  |'],
    ['select * into evil from t', 'select,select_into | t | evil |'],
    ['select * from t for update', 'select,select_for_update | t |  |'],
    ['with x as (select * from t) select * from x', 'select | t |  |'],
    ['with x as (select * from x) select * from x', 'select | x |  |'],
    ['with recursive x as (select 1 union all select * from x) select * from x', 'select |  |  |'],
    ['with "X" as (select 1) select * from x', 'select | x |  |'],
    ['select * from (with secrets as (select 1) select 2) a, secrets', 'select | secrets |  |'],
    ['with x as (delete from t returning *) select * from x', 'select,delete | t | t |'],
    ['with x as (insert into t values (1) returning *) select * from x', 'select,insert | t | t |'],
    ['with x as (update t set a = 1 returning *) select * from x', 'select,update | t | t |'],
    ['with x as (select 1) insert into t select * from x', 'select,insert |  | t |'],
    ['explain select a from t', 'explain | t |  |'],
    ['explain analyze delete from t', 'explain,delete |  | t |'],
    ['explain (analyze, buffers) update t set a = 1', 'explain,update |  | t |'],
    ['insert into a.b (x) select y from c', 'insert | c | a.b |'],
    ['insert into t values (1) on conflict (x) do update set x = 2', 'insert,update |  | t |'],
    ['insert into t values (1) on conflict (x) do update set x = (select y from u)', 'insert,update | u | t |'],
    ['update t set x = (select y from u) from v where t.a = v.a', 'update | v,u | t |'],
    ['delete from t using u where t.a = u.a', 'delete | u | t |'],
    ['merge into t using s on t.a = s.a when matched then delete', 'merge | s | t |'],
    ['create table x as select * from y', 'create | x,y | x |'],
    ['create view v as select * from y', 'create | v,y | v |'],
    ['drop table a, b.c', 'drop | a,b.c | a,b.c |'],
    ['truncate a', 'truncate | a | a |'],
    ['alter table a add column b int', 'alter | a | a |'],
    ["copy t to program 'rm -rf /'", 'copy | t | t |'],
    ['call p(1)', 'call |  |  | p'],
    ['grant select on t to u', 'grant | t,u | t,u |'],
    ['set role x', 'set |  |  |'],
    ['show search_path', 'show |  |  |'],
    ['begin', 'transaction |  |  |'],
    ['prepare p as delete from t', 'other,delete | t | t |'],
    ['execute p', 'other | p | p |'],
    ['select pg_read_file($1), lower(x), PG_SLEEP(1) from t', 'select | t |  | pg_read_file,pg_sleep'],
    ['select evil.count(x)', 'select |  |  | evil.count'],
    ['select "Count"(x)', 'select |  |  |'],
    ['select * from dblink($1) as t(a int)', 'select |  |  | dblink'],
    ['select * from lateral dblink($1) t', 'select |  |  | dblink'],
    ['select * from a join dblink($1) t on true', 'select | a |  | dblink'],
    ['select a operator(evil.+) b', 'select |  |  | operator evil.+'],
    ["select nextval('s')", 'select |  |  | nextval'],
    ['select \'it\'\'s; drop table x\', e."a "" b" from e', 'select | e |  |'],
    ['select 1 -- drop table x', 'select |  |  |'],
    ['select /* drop table x */ 1', 'select |  |  |'],
  ])('%s', (text, expected) => {
    expect(read(text)).toEqual([expected]);
  });

  test.each([
    ['mysql', 'replace into t values (1)', 'insert,delete |  | t |'],
    ['mysql', 'insert into t values (1) on duplicate key update x = 1', 'insert,update |  | t |'],
    ['mysql', 'update t join u on t.a = u.a set t.x = 1', 'update | t,u | t,u |'],
    ['mysql', 'delete a from t1 a join t2 b using (x)', 'delete | a,t1,t2 | a,t1,t2 |'],
    ['mysql', 'select 1 into @x', 'select,select_into |  | @x |'],
    ['mysql', "select load_file('/etc/passwd')", 'select |  |  | load_file'],
    ['mysql', 'select sleep(5) from `a`.`b`', 'select | a.b |  | sleep'],
    ['mysql', 'describe t', 'explain | t |  |'],
    ['mysql', 'kill 1', 'other |  |  |'],
    ['sqlite', 'insert or replace into t values (1)', 'insert,delete |  | t |'],
    ['sqlite', 'pragma writable_schema = 1', 'pragma | writable_schema | writable_schema |'],
    ['sqlite', "attach 'x' as y", 'attach |  |  |'],
    ['sqlite', "select load_extension('x')", 'select |  |  | load_extension'],
    ['sqlite', "select * from pragma_table_info('t')", 'select |  |  | pragma_table_info'],
  ] as const)('%s: %s', (dialect, text, expected) => {
    expect(read(text, dialect)).toEqual([expected]);
  });

  test('each of several', () => {
    expect(read('select 1; delete from t;\n;')).toEqual(['select |  |  |', 'delete |  | t |']);
    expect(read("select ';' ; select 2")).toHaveLength(2);
  });

  // What servers, their versions or their settings read in several ways, and what the parser reads as something else.
  test.each([
    ['postgresql', ''],
    ['postgresql', ' ; -- nothing'],
    ['postgresql', 'selec 1'],
    ['postgresql', "select '"],
    ['postgresql', "select 'a\\'; drop table x; --'"],
    ['postgresql', "select E'\\x41'"],
    ['postgresql', "select u&'d0061'"],
    ['postgresql', 'select $$a$$'],
    ['postgresql', 'select $a$b$a$'],
    ['postgresql', 'select 1 /* a /* b */ */'],
    ['postgresql', 'select 1 /* a'],
    ['postgresql', 'select 1 \u0000; drop table x'],
    ['postgresql', 'select 1 -- a\r; drop table x'],
    ['postgresql', 'select\u00a01'],
    ['postgresql', 'select * from only secrets'],
    ['postgresql', 'select 1 delete from t'],
    ['postgresql', 'select a as update from t'],
    ['postgresql', 'select x from t; do $1'],
    ['postgresql', 'select * from "a.b"'],
    ['postgresql', `select 1${' + 1'.repeat(2_000)}`],
    ['postgresql', `select ${'('.repeat(200)}1${')'.repeat(200)}`],
    ['postgresql', `select '${'x'.repeat(20_000)}'`],
    ['mysql', "select 1 /*!50000 into outfile '/x' */"],
    ['mysql', "select 1 /*M! into outfile '/x' */"],
    ['mysql', 'select /*+ x */ 1'],
    ['mysql', "select * from t into outfile '/x'"],
    ['mysql', "select * into dumpfile '/x' from t"],
    ['mysql', 'select "a"'],
    ['mysql', "select 'a\\' or 1'"],
    ['mysql', 'select 1 # a\n; drop table x'],
    ['mysql', 'select 1 --1'],
    ['mysql', 'select @x := 1'],
    ['mysql', 'select * from t straight_join u'],
    ['mysql', "load data infile 'x' into table t"],
    ['mysql', 'select {d x}'],
    ['sqlite', 'select [a] from t'],
    ['sqlite', "vacuum into 'x'"],
    ['sqlite', 'create trigger a after insert on b begin delete from c; end'],
  ] as const)('%s cannot be told: %j', (dialect, text) => {
    expect(read(text, dialect)).toBeNull();
    expect(read('select 1', dialect)).toEqual(['select |  |  |']); // the parser lives on
  });
});
