-- Which run a profile's gate compares with: the newest row of a profile counts, older ones stay to be seen.
create table blessing (
  blessing_no integer primary key,
  profile_id text not null,
  run_no integer not null references run (run_no) deferrable initially deferred,
  blessed_by text not null,
  blessed_at integer not null
) strict;
create index blessing_profile on blessing (profile_id, blessing_no);

-- Why the last try of a delivery came to nothing, for a person.
alter table delivery add column last_error text;
create index delivery_due on delivery (next_at) where status in ('pending', 'failed');
create index delivery_open on delivery (endpoint, outbox_no) where status in ('pending', 'failed');
