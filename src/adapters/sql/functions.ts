/** Functions of PostgreSQL, MySQL and SQLite that compute and do nothing else: no file, no other server, no lock, no sequence, no setting, no sleep. */
export const HARMLESS_FUNCTIONS: ReadonlySet<string> = new Set(
  `
abs acos asin atan atan2 ceil ceiling cos cot degrees div exp floor ln log log10 log2 mod pi power pow radians round sign sin sqrt tan trunc
truncate width_bucket greatest least coalesce nullif ifnull isnull if iif
count sum avg min max total every bool_and bool_or bit_and bit_or bit_xor string_agg group_concat array_agg json_agg jsonb_agg
json_object_agg jsonb_object_agg json_arrayagg json_objectagg json_group_array json_group_object any_value mode percentile_cont
percentile_disc stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp regr_slope regr_intercept regr_r2
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
lower upper initcap length char_length character_length octet_length bit_length substr substring left right ltrim rtrim trim btrim
replace translate reverse concat concat_ws strpos position instr locate ascii chr char unicode hex unhex to_hex split_part
substring_index starts_with quote quote_literal quote_ident quote_nullable format to_char to_number to_date to_timestamp lcase ucase mid
find_in_set field elt overlay md5 sha1 sha2 sha256 crc32 encode decode to_base64 from_base64
now current_timestamp current_date current_time localtime localtimestamp clock_timestamp transaction_timestamp statement_timestamp
date time datetime julianday unixepoch strftime timediff date_trunc date_part extract age make_date make_time make_timestamp
make_interval justify_days justify_hours justify_interval date_format str_to_date date_add date_sub adddate subdate datediff
timestampdiff timestampadd year quarter month week weekday day dayofmonth dayofweek dayofyear hour minute second microsecond
last_day curdate curtime utc_date utc_time utc_timestamp from_unixtime unix_timestamp to_days from_days monthname dayname weekofyear
yearweek sec_to_time time_to_sec convert_tz
json json_array json_object json_extract json_unquote json_quote json_type json_valid json_array_length json_length json_keys
json_contains json_contains_path json_search json_value json_depth json_patch json_set json_insert json_replace json_remove
json_merge_patch json_merge_preserve jsonb_build_object jsonb_build_array json_build_object json_build_array to_json to_jsonb
row_to_json jsonb_array_length jsonb_typeof json_typeof jsonb_extract_path jsonb_extract_path_text json_extract_path
json_extract_path_text jsonb_set jsonb_strip_nulls json_strip_nulls jsonb_path_exists jsonb_path_query_first jsonb_pretty
json_each json_tree jsonb_each jsonb_each_text json_each_text jsonb_array_elements jsonb_array_elements_text json_array_elements
json_array_elements_text jsonb_object_keys json_object_keys
array array_length array_upper array_lower array_position array_append array_cat array_to_string string_to_array cardinality unnest
generate_series typeof pg_typeof cast convert likely unlikely printf glob like grouping values
`
    .trim()
    .split(/\s+/),
);
