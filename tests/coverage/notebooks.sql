-- W01 orders_by_month on tpch keys 1
SELECT date_trunc('month', o_orderdate) AS month, COUNT(*) AS orders FROM orders GROUP BY 1 ORDER BY 1;

-- W02 revenue_by_quarter on tpch keys 1
SELECT date_trunc('quarter', o_orderdate)::date AS q, SUM(o_totalprice) AS revenue FROM orders WHERE o_orderdate >= DATE '1996-01-01' AND o_orderdate < DATE '1997-01-01' GROUP BY 1 ORDER BY 1;

-- W03 month_of_a_date_cast_with_schema on tpch keys 1
SELECT CAST(DATE_TRUNC('month', "public"."orders"."o_orderdate") AS date) AS "o_orderdate", COUNT(*) AS "count" FROM "public"."orders" WHERE "public"."orders"."o_orderdate" >= timestamp '1995-01-01 00:00:00' GROUP BY CAST(DATE_TRUNC('month', "public"."orders"."o_orderdate") AS date) ORDER BY CAST(DATE_TRUNC('month', "public"."orders"."o_orderdate") AS date) ASC;

-- W04 two_levels_with_quoted_names on tpch keys 1
SELECT "source"."o_orderpriority" AS "o_orderpriority", COUNT(*) AS "count", SUM("source"."o_totalprice") AS "sum" FROM (SELECT "public"."orders"."o_orderpriority" AS "o_orderpriority", "public"."orders"."o_totalprice" AS "o_totalprice" FROM "public"."orders" WHERE "public"."orders"."o_orderstatus" = 'F') AS "source" GROUP BY "source"."o_orderpriority" ORDER BY "count" DESC, "source"."o_orderpriority" ASC LIMIT 2000;

-- W05 number_of_records_by_year on tpch keys 1
SELECT TRUNC(EXTRACT(YEAR FROM "orders"."o_orderdate")) AS "yr:o_orderdate:ok", SUM(1) AS "cnt:Number of Records:ok" FROM "public"."orders" "orders" GROUP BY 1;

-- W06 average_by_segment on tpch keys 1
SELECT "c_mktsegment" AS "c_mktsegment", AVG("c_acctbal") AS "AVG(c_acctbal)" FROM "public"."customer" GROUP BY "c_mktsegment" ORDER BY "AVG(c_acctbal)" DESC LIMIT 10000;

-- W07 growth_with_lag on tpch keys 1
WITH yearly AS (SELECT EXTRACT(YEAR FROM o_orderdate) AS y, SUM(o_totalprice) AS revenue FROM orders GROUP BY 1) SELECT y, revenue, LAG(revenue) OVER (ORDER BY y) AS previous, ROUND(100.0 * (revenue - LAG(revenue) OVER (ORDER BY y)) / LAG(revenue) OVER (ORDER BY y), 1) AS growth FROM yearly ORDER BY y;

-- W08 percent_of_total on tpch keys 1
SELECT o_orderpriority, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS pct FROM orders GROUP BY o_orderpriority ORDER BY n DESC;

-- W09 rolling_mean_of_months on tpch keys 1
SELECT month, n, AVG(n) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS rolling FROM (SELECT date_trunc('month', o_orderdate) AS month, COUNT(*) AS n FROM orders GROUP BY 1) m ORDER BY month;

-- W10 width_bucket on tpch keys 1
SELECT width_bucket(o_totalprice, 0, 600000, 12) AS bucket, COUNT(*) FROM orders GROUP BY 1 ORDER BY 1;

-- W11 histogram_with_floor on tpch keys 1
SELECT FLOOR(o_totalprice / 50000) * 50000 AS bucket, COUNT(*) FROM orders GROUP BY 1 ORDER BY 1;

-- W12 bands_by_case on tpch keys 1
SELECT CASE WHEN o_totalprice < 50000 THEN 'small' WHEN o_totalprice < 200000 THEN 'medium' ELSE 'large' END AS size, COUNT(*), AVG(o_totalprice) FROM orders GROUP BY 1;

-- W13 counts_side_by_side_with_filter on tpch keys 1
SELECT o_orderpriority, COUNT(*) FILTER (WHERE o_orderstatus = 'F') AS finished, COUNT(*) FILTER (WHERE o_orderstatus = 'O') AS open, COUNT(*) FILTER (WHERE o_orderstatus = 'P') AS partly FROM orders GROUP BY o_orderpriority;

-- W14 orders_per_buyer on tpch keys 0
SELECT COUNT(DISTINCT o_custkey) AS buyers, COUNT(*) AS orders, COUNT(*)::numeric / NULLIF(COUNT(DISTINCT o_custkey), 0) AS per_buyer FROM orders;

-- W15 rollup_with_a_label on tpch keys 1
SELECT COALESCE(c_mktsegment, 'all') AS segment, COUNT(*) FROM customer GROUP BY ROLLUP (c_mktsegment);

-- W16 grouping_sets on tpch keys 2
SELECT o_orderpriority, o_orderstatus, COUNT(*) FROM orders GROUP BY GROUPING SETS ((o_orderpriority), (o_orderstatus), ());

-- W17 cube_with_grouping on tpch keys 2
SELECT o_orderpriority, o_orderstatus, COUNT(*), GROUPING(o_orderpriority) FROM orders GROUP BY CUBE (o_orderpriority, o_orderstatus);

-- W18 date_spine_beside_counts on tpch keys 1
SELECT d.month, COALESCE(m.n, 0) AS n FROM generate_series(DATE '1992-01-01', DATE '1998-08-01', INTERVAL '1 month') AS d(month) LEFT JOIN (SELECT date_trunc('month', o_orderdate) AS month, COUNT(*) AS n FROM orders GROUP BY 1) m ON m.month = d.month ORDER BY 1;

-- W19 year_spine_with_using on tpch keys 1
SELECT g.y, t.n FROM generate_series(1992, 1998) AS g(y) LEFT JOIN (SELECT EXTRACT(YEAR FROM o_orderdate) AS y, COUNT(*) AS n FROM orders GROUP BY 1) t USING (y) ORDER BY g.y;

-- W20 union_all_of_counts on tpch keys 1
SELECT 'customers' AS what, COUNT(*) AS n FROM customer UNION ALL SELECT 'orders', COUNT(*) FROM orders UNION ALL SELECT 'suppliers', COUNT(*) FROM supplier;

-- W21 five_largest_nations on tpch keys 1
SELECT n_name, COUNT(*) AS customers FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name ORDER BY customers DESC, n_name LIMIT 5;

-- W22 revenue_by_region_and_nation on tpch keys 2
SELECT r_name, n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey GROUP BY r_name, n_name ORDER BY r_name, revenue DESC;

-- W23 three_largest_nations_of_each_region on tpch keys 2
SELECT * FROM (SELECT r_name, n_name, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY r_name ORDER BY COUNT(*) DESC) AS rk FROM customer JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey GROUP BY r_name, n_name) t WHERE rk <= 3 ORDER BY r_name, rk;

-- W24 mean_of_days_between on tpch keys 1
SELECT l_shipmode, AVG(l_receiptdate - l_shipdate) AS days FROM lineitem GROUP BY l_shipmode ORDER BY days DESC;

-- W25 month_as_text on tpch keys 1
SELECT TO_CHAR(o_orderdate, 'YYYY-MM') AS month, COUNT(*) FROM orders GROUP BY 1 ORDER BY 1;

-- W26 month_as_text_grouped_by_date on tpch keys 1
SELECT to_char(date_trunc('month', o_orderdate), 'YYYY-MM') AS month, COUNT(*) FROM orders GROUP BY date_trunc('month', o_orderdate) ORDER BY 1;

-- W27 day_of_the_week on tpch keys 1
SELECT EXTRACT(DOW FROM o_orderdate) AS dow, COUNT(*) FROM orders GROUP BY 1 ORDER BY 1;

-- W28 year_and_month on tpch keys 2
SELECT EXTRACT(YEAR FROM o_orderdate)::int AS y, EXTRACT(MONTH FROM o_orderdate)::int AS m, SUM(o_totalprice) AS s FROM orders GROUP BY 1, 2 ORDER BY 1, 2;

-- W29 customers_by_number_of_orders on tpch keys 1
SELECT orders_made, COUNT(*) AS customers FROM (SELECT c_custkey, COUNT(o_orderkey) AS orders_made FROM customer LEFT JOIN orders ON c_custkey = o_custkey GROUP BY c_custkey) t GROUP BY orders_made ORDER BY orders_made;

-- W30 cohorts_by_first_order on tpch keys 1
WITH firsts AS (SELECT o_custkey, MIN(o_orderdate) AS first_order FROM orders GROUP BY o_custkey) SELECT date_trunc('month', first_order) AS cohort, COUNT(*) AS customers FROM firsts GROUP BY 1 ORDER BY 1;

-- W31 cohorts_by_age on tpch keys 2
WITH firsts AS (SELECT o_custkey, MIN(o_orderdate) AS f FROM orders GROUP BY o_custkey) SELECT EXTRACT(YEAR FROM f) AS cohort, EXTRACT(YEAR FROM o_orderdate) - EXTRACT(YEAR FROM f) AS age, COUNT(DISTINCT o.o_custkey) AS active FROM firsts JOIN orders o USING (o_custkey) GROUP BY 1, 2 ORDER BY 1, 2;

-- W32 share_by_cast on tpch keys 0
SELECT SUM(CASE WHEN l_returnflag = 'R' THEN 1 ELSE 0 END)::float / COUNT(*) AS return_rate FROM lineitem;

-- W33 percent_by_average on tpch keys 1
SELECT l_shipmode, 100 * AVG(CASE WHEN l_returnflag = 'R' THEN 1.0 ELSE 0 END) AS pct FROM lineitem GROUP BY l_shipmode;

-- W34 median_and_90th_percentile on tpch keys 1
SELECT o_orderpriority, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY o_totalprice) AS median, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY o_totalprice) AS p90 FROM orders GROUP BY 1;

-- W35 no_order_since_by_not_in on tpch keys 0
SELECT COUNT(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders WHERE o_orderdate >= DATE '1998-01-01');

-- W36 last_forty_years_until_today on tpch keys 0
SELECT COUNT(*) FROM orders WHERE o_orderdate BETWEEN CURRENT_DATE - INTERVAL '40 years' AND CURRENT_DATE;

-- W37 country_code_of_phones on tpch keys 1
SELECT LEFT(c_phone, 2) AS cc, COUNT(*) FROM customer WHERE LEFT(c_phone, 2) IN ('13', '31', '23') GROUP BY 1;

-- W38 part_of_a_private_name on tpch keys 1
SELECT SPLIT_PART(c_name, '#', 1) AS p, COUNT(*) FROM customer GROUP BY 1;

-- W39 trimmed_upper_case on tpch keys 1
SELECT UPPER(TRIM(o_orderpriority)) AS p, COUNT(*) FROM orders GROUP BY 1;

-- W40 quartiles_of_nations on tpch keys 2
SELECT NTILE(4) OVER (ORDER BY n DESC, n_name) AS quartile, n_name, n FROM (SELECT n_name, COUNT(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name) t;

-- W41 rank_and_cumulative_share_of_nations on tpch keys 1
SELECT n_name, n, PERCENT_RANK() OVER (ORDER BY n) AS pr, CUME_DIST() OVER (ORDER BY n) AS cd FROM (SELECT n_name, COUNT(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name) t;

-- W42 running_count_with_window on tpch keys 1
SELECT o_orderstatus, SUM(n) OVER w AS running FROM (SELECT o_orderstatus, COUNT(*) AS n FROM orders GROUP BY o_orderstatus) t WINDOW w AS (ORDER BY o_orderstatus);

-- W43 largest_nation_of_each_region on tpch keys 1
SELECT DISTINCT ON (r_name) r_name, n_name, n FROM (SELECT r_name, n_name, COUNT(*) AS n FROM customer JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey GROUP BY 1, 2) t ORDER BY r_name, n DESC;

-- W44 mean_of_sums_per_customer on tpch keys 0
SELECT AVG(total) FROM (SELECT o_custkey, SUM(o_totalprice) AS total FROM orders GROUP BY o_custkey) t;

-- W45 difference_to_a_scalar_subquery on tpch keys 0
SELECT AVG(o_totalprice) AS avg, (SELECT AVG(o_totalprice) FROM orders WHERE o_orderstatus = 'F') AS finished, AVG(o_totalprice) - (SELECT AVG(o_totalprice) FROM orders WHERE o_orderstatus = 'F') AS diff FROM orders;

-- W46 above_average on tpch keys 0
SELECT COUNT(*) FROM orders o WHERE o_totalprice > (SELECT AVG(o_totalprice) FROM orders);

-- W47 first_and_last_date on tpch keys 0
SELECT MIN(o_orderdate), MAX(o_orderdate) FROM orders;

-- W48 spread on tpch keys 0
SELECT MAX(o_totalprice) - MIN(o_totalprice) AS spread FROM orders;

-- W49 recent_or_not on tpch keys 1
SELECT (o_orderdate >= DATE '1995-01-01') AS recent, COUNT(*) FROM orders GROUP BY 1;

-- W50 busiest_clerks on tpch keys 1
SELECT o_clerk, COUNT(*) FROM orders GROUP BY o_clerk ORDER BY 2 DESC LIMIT 10;

-- W51 most_sold_brands on tpch keys 1
SELECT p_brand, COUNT(*) FROM lineitem JOIN part ON l_partkey = p_partkey GROUP BY p_brand ORDER BY 2 DESC LIMIT 10;

-- W52 ilike_and_not_like on tpch keys 0
SELECT COUNT(*) AS n FROM orders JOIN customer ON o_custkey = c_custkey WHERE c_mktsegment ILIKE 'build%' AND o_comment NOT LIKE '%special%requests%';

-- W53 weekly_quantity on tpch keys 1
SELECT date_trunc('week', l_shipdate) AS wk, SUM(l_quantity) FROM lineitem WHERE l_shipdate BETWEEN '1995-01-01' AND '1995-03-31' GROUP BY wk ORDER BY wk;

-- W54 coefficient_of_variation on tpch keys 1
SELECT o_orderpriority, STDDEV(o_totalprice) / AVG(o_totalprice) AS cv FROM orders GROUP BY 1;

-- W55 customers_beyond_a_total on tpch keys 0
SELECT COUNT(*) FROM (SELECT o_custkey FROM orders GROUP BY o_custkey HAVING SUM(o_totalprice) > 1000000) big;

-- W56 grades_by_major_with_having on university keys 1
SELECT major, ROUND(AVG(grade), 2) AS avg_grade, COUNT(DISTINCT uid) AS students FROM student JOIN enrollment USING (uid) GROUP BY major HAVING COUNT(*) >= 10 ORDER BY avg_grade DESC;

-- W57 best_reviewed_courses on university keys 1
SELECT title, COUNT(*) AS seats, AVG(review) AS stars FROM section JOIN enrollment USING (sid) GROUP BY title ORDER BY stars DESC NULLS LAST LIMIT 5;

-- W58 letter_grades on university keys 1
SELECT CASE WHEN grade >= 90 THEN 'A' WHEN grade >= 80 THEN 'B' WHEN grade >= 70 THEN 'C' WHEN grade IS NULL THEN 'pending' ELSE 'F' END AS letter, COUNT(*) FROM enrollment GROUP BY 1 ORDER BY 1;

-- W59 teachers_by_mean_grade on university keys 1
SELECT f.name, COUNT(e.eid) AS taught, AVG(e.grade) AS mean FROM faculty f LEFT JOIN section s ON s.fid = f.fid LEFT JOIN enrollment e ON e.sid = s.sid GROUP BY f.name ORDER BY mean DESC;

-- W60 load_of_students on university keys 1
SELECT n_sections, COUNT(*) AS students FROM (SELECT uid, COUNT(*) AS n_sections FROM enrollment GROUP BY uid) t GROUP BY n_sections ORDER BY 1;

-- W61 aid_per_student on university keys 1
SELECT s.major, SUM(sc.amount) AS total, SUM(sc.amount) / NULLIF(COUNT(DISTINCT s.uid), 0) AS per_student FROM student s LEFT JOIN scholarship sc ON sc.uid = s.uid GROUP BY s.major;

-- W62 buckets_of_grades on university keys 1
SELECT width_bucket(grade, 0, 100, 10) AS b, COUNT(*) FROM enrollment GROUP BY b ORDER BY b;

-- W63 tens_of_grades on university keys 1
SELECT (grade / 10) * 10 AS lo, COUNT(*) FROM enrollment WHERE grade IS NOT NULL GROUP BY 1 ORDER BY 1;

-- W64 running_share_of_reviews on university keys 1
SELECT review, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY review) AS running, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS pct FROM enrollment GROUP BY review;

-- W65 honours_beside_counts on university keys 1
SELECT a.major, a.n, b.n AS honours FROM (SELECT major, COUNT(*) AS n FROM student GROUP BY major) a JOIN (SELECT major, COUNT(DISTINCT uid) AS n FROM student JOIN enrollment USING (uid) WHERE grade >= 90 GROUP BY major) b ON a.major = b.major;

-- W66 mean_salary_by_age_with_filter on university keys 0
SELECT AVG(salary) FILTER (WHERE age < 50) AS young, AVG(salary) FILTER (WHERE age >= 50) AS old FROM faculty;

-- W67 concat_ws_label on university keys 1
SELECT CONCAT_WS(' / ', major, 'students') AS label, COUNT(*) FROM student GROUP BY major;

-- W68 count_as_text on university keys 1
SELECT major, RIGHT('000000' || COUNT(*)::text, 6)::int AS padded FROM student GROUP BY major;

-- W69 values_joined_with_counts on university keys 1
SELECT * FROM (VALUES ('CS'), ('Math')) AS v(major) JOIN (SELECT major, COUNT(*) AS n FROM student GROUP BY major) t USING (major);

-- W70 join_in_brackets on university keys 0
SELECT COUNT(*) FROM (student JOIN enrollment USING (uid)) WHERE grade > 50;

-- W71 first_three_rows on university keys 1
SELECT major, COUNT(*) AS n FROM student GROUP BY major ORDER BY COUNT(*) DESC FETCH FIRST 3 ROWS ONLY;

-- W72 group_by_all on university keys 1
SELECT major, COUNT(*) FROM student GROUP BY ALL;
