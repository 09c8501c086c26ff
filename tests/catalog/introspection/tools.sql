-- What tools with a window ask: lists of databases, schemas, tables, columns, keys and sizes. One statement each, parameters after it.

SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate ORDER BY db.datname
;;

SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname
;;

SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace = 'public'::regnamespace AND c.relkind NOT IN ('i', 'I', 'c') ORDER BY c.relname
;;

SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size, pg_catalog.pg_relation_size(c.oid) AS rel_size FROM pg_catalog.pg_class c WHERE c.relnamespace = 'public'::regnamespace ORDER BY c.relname
;;

SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON a.attrelid = c.oid LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum LEFT OUTER JOIN pg_catalog.pg_description dsc ON c.oid = dsc.objoid AND a.attnum = dsc.objsubid WHERE NOT a.attisdropped AND c.relnamespace = 'public'::regnamespace ORDER BY c.relname, a.attnum
;;

SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, pg_catalog.pg_get_constraintdef(c.oid) AS definition FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid ORDER BY c.oid
;;

SELECT n.nspname AS "schema", c.relname AS "name", 'TABLE' AS "type", pg_catalog.obj_description(c.oid, 'pg_class') AS "description", stat.n_live_tup AS "estimated-row-count" FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_stat_user_tables stat ON n.nspname = stat.schemaname AND c.relname = stat.relname WHERE c.relkind IN ('r', 'p', 'v', 'f', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
;;

SELECT c.table_schema, c.table_name, c.column_name, c.ordinal_position, c.data_type, c.is_nullable, c.column_default, pg_catalog.col_description((quote_ident(c.table_schema) || '.' || quote_ident(c.table_name))::regclass, c.ordinal_position) AS comment FROM information_schema.columns c WHERE c.table_schema = 'public' ORDER BY 2, 4
;;

SELECT tc.table_name, kcu.column_name, ccu.table_name AS foreign_table, ccu.column_name AS foreign_column, tc.constraint_type FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kcu ON tc.constraint_name = kcu.constraint_name LEFT JOIN information_schema.constraint_column_usage ccu ON ccu.constraint_name = tc.constraint_name WHERE tc.table_schema = 'public' ORDER BY 1, 2, 3
;;

SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i, string_to_array(current_setting('search_path'), ',') s) ORDER BY 1
;;

SELECT current_setting('server_version_num')::int / 100 AS version, current_database(), current_schema(), session_user, pg_catalog.pg_is_in_recovery()
;;

SELECT has_table_privilege(c.oid, 'SELECT'), c.relname FROM pg_catalog.pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY 2
;;
