-- B01 metabase_orders_by_month on tpch keys 1
SELECT CAST(DATE_TRUNC('month', "public"."orders"."o_orderdate") AS date) AS "o_orderdate", COUNT(*) AS "count" FROM "public"."orders" WHERE "public"."orders"."o_orderdate" >= DATE '1997-01-01' AND "public"."orders"."o_orderdate" < DATE '1998-01-01' GROUP BY CAST(DATE_TRUNC('month', "public"."orders"."o_orderdate") AS date) ORDER BY 1 ASC;

-- B02 superset_table_with_limit on tpch keys 1
SELECT "c_mktsegment" AS "c_mktsegment", COUNT(*) AS "COUNT(*)", SUM("c_acctbal") AS "SUM(c_acctbal)" FROM "public"."customer" GROUP BY "c_mktsegment" ORDER BY "COUNT(*)" DESC LIMIT 1000;

-- B03 tableau_extract_year_month on tpch keys 2
SELECT CAST(EXTRACT(YEAR FROM "orders"."o_orderdate") AS INTEGER) AS "yr", CAST(EXTRACT(MONTH FROM "orders"."o_orderdate") AS INTEGER) AS "mn", SUM(1) AS "cnt" FROM "public"."orders" "orders" WHERE (EXTRACT(YEAR FROM "orders"."o_orderdate") IN (1995, 1996)) GROUP BY 1, 2;

-- B04 power_bi_folded on tpch keys 1
select "_"."o_orderpriority", "_"."a0" from (select "rows"."o_orderpriority" as "o_orderpriority", count(1) as "a0" from (select "o_orderkey", "o_orderpriority" from "public"."orders" "$Table" where "o_orderstatus" = 'F') "rows" group by "o_orderpriority") "_" where not "_"."a0" is null limit 1000001;

-- B05 looker_dimension_measure on tpch keys 1
SELECT customer.c_mktsegment AS "customer.segment", COALESCE(SUM(orders.o_totalprice), 0) AS "orders.total", COUNT(DISTINCT orders.o_custkey) AS "orders.buyers" FROM orders AS orders LEFT JOIN customer AS customer ON orders.o_custkey = customer.c_custkey WHERE ((( orders.o_orderdate ) >= (DATE '1996-01-01') AND ( orders.o_orderdate ) < (DATE '1996-04-01'))) GROUP BY 1 ORDER BY 2 DESC FETCH NEXT 500 ROWS ONLY;

-- B06 year_over_year_by_self_join on tpch keys 1
WITH y AS (SELECT EXTRACT(YEAR FROM o_orderdate)::int AS yr, SUM(o_totalprice) AS revenue FROM orders WHERE o_orderdate BETWEEN '1993-01-01' AND '1996-12-31' GROUP BY 1) SELECT cur.yr, cur.revenue, prev.revenue AS last_year, ROUND(100.0 * (cur.revenue - prev.revenue) / NULLIF(prev.revenue, 0), 2) AS pct FROM y cur LEFT JOIN y prev ON prev.yr = cur.yr - 1 ORDER BY cur.yr;

-- B07 running_total_by_month on tpch keys 1
SELECT month, n, SUM(n) OVER (ORDER BY month ROWS UNBOUNDED PRECEDING) AS running FROM (SELECT DATE_TRUNC('month', o_orderdate) AS month, COUNT(*) AS n FROM orders WHERE o_orderdate >= '1995-01-01' AND o_orderdate < '1996-01-01' GROUP BY 1) t ORDER BY month;

-- B08 percent_of_total on tpch keys 1
SELECT o_orderpriority, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), 1) AS pct FROM orders GROUP BY o_orderpriority ORDER BY n DESC;

-- B09 percent_of_total_by_scalar on tpch keys 1
SELECT c_mktsegment, COUNT(*) AS n, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM customer) AS pct FROM customer GROUP BY c_mktsegment;

-- B10 top_segment_per_year on tpch keys 1
SELECT yr, c_mktsegment, revenue FROM (SELECT EXTRACT(YEAR FROM o.o_orderdate) AS yr, c.c_mktsegment, SUM(o.o_totalprice) AS revenue, ROW_NUMBER() OVER (PARTITION BY EXTRACT(YEAR FROM o.o_orderdate) ORDER BY SUM(o.o_totalprice) DESC) AS rn FROM orders o JOIN customer c ON c.c_custkey = o.o_custkey WHERE o.o_orderdate < '1995-01-01' GROUP BY 1, 2) t WHERE rn = 1 ORDER BY yr;

-- B11 pivot_status_by_priority on tpch keys 1
SELECT o_orderpriority, SUM(CASE WHEN o_orderstatus = 'F' THEN 1 ELSE 0 END) AS f, SUM(CASE WHEN o_orderstatus = 'O' THEN 1 ELSE 0 END) AS o, SUM(CASE WHEN o_orderstatus NOT IN ('F', 'O') THEN 1 ELSE 0 END) AS other FROM orders GROUP BY o_orderpriority;

-- B12 histogram_by_floor on tpch keys 1
SELECT FLOOR(c_acctbal / 1000) * 1000 AS bucket, COUNT(*) AS n FROM customer GROUP BY 1 ORDER BY 1;

-- B13 histogram_by_case on tpch keys 1
SELECT CASE WHEN o_totalprice < 50000 THEN '1: below 50k' WHEN o_totalprice < 150000 THEN '2: 50k to 150k' WHEN o_totalprice < 250000 THEN '3: 150k to 250k' ELSE '4: more' END AS band, COUNT(*) AS n, SUM(o_totalprice) AS total FROM orders GROUP BY 1 ORDER BY 1;

-- B14 date_spine_left_join on tpch keys 1
SELECT s.month::date AS month, COUNT(o.o_orderkey) AS n FROM generate_series(DATE '1995-01-01', DATE '1995-12-01', INTERVAL '1 month') AS s(month) LEFT JOIN orders o ON DATE_TRUNC('month', o.o_orderdate) = s.month GROUP BY 1 ORDER BY 1;

-- B15 date_spine_and_facts_cte on tpch keys 1
WITH months AS (SELECT generate_series AS m FROM generate_series(DATE '1996-01-01', DATE '1996-12-01', INTERVAL '1 month')), facts AS (SELECT DATE_TRUNC('month', o_orderdate) AS m, SUM(o_totalprice) AS revenue FROM orders GROUP BY 1) SELECT months.m, COALESCE(facts.revenue, 0) AS revenue FROM months LEFT JOIN facts ON facts.m = months.m ORDER BY 1;

-- B16 union_all_of_measures on tpch keys 1
SELECT 'orders' AS metric, COUNT(*)::numeric AS value FROM orders UNION ALL SELECT 'customers', COUNT(*) FROM customer UNION ALL SELECT 'revenue', SUM(o_totalprice) FROM orders UNION ALL SELECT 'average order', AVG(o_totalprice) FROM orders;

-- B17 cohort_by_first_order_year on tpch keys 1
SELECT first_year, COUNT(*) AS customers FROM (SELECT o_custkey, MIN(EXTRACT(YEAR FROM o_orderdate)) AS first_year FROM orders GROUP BY o_custkey) f GROUP BY first_year ORDER BY first_year;

-- B18 retention_two_years on tpch keys 0
WITH a AS (SELECT DISTINCT o_custkey FROM orders WHERE o_orderdate >= '1995-01-01' AND o_orderdate < '1996-01-01'), b AS (SELECT DISTINCT o_custkey FROM orders WHERE o_orderdate >= '1996-01-01' AND o_orderdate < '1997-01-01') SELECT COUNT(*) AS base, COUNT(b.o_custkey) AS retained, 1.0 * COUNT(b.o_custkey) / COUNT(*) AS rate FROM a LEFT JOIN b ON b.o_custkey = a.o_custkey;

-- B19 funnel_by_exists on tpch keys 0
SELECT COUNT(*) AS customers, COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM orders o WHERE o.o_custkey = c.c_custkey)) AS with_order, COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM orders o WHERE o.o_custkey = c.c_custkey AND o.o_totalprice > 200000)) AS with_large FROM customer c;

-- B20 anti_join_never_ordered on tpch keys 1
SELECT c.c_mktsegment, COUNT(*) AS n FROM customer c LEFT JOIN orders o ON o.o_custkey = c.c_custkey WHERE o.o_orderkey IS NULL GROUP BY c.c_mktsegment;

-- B21 not_in_never_ordered on tpch keys 0
SELECT COUNT(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders WHERE o_orderdate >= '1997-01-01');

-- B22 repeat_buyers on tpch keys 0
SELECT COUNT(*) AS buyers, COUNT(*) FILTER (WHERE n > 1) AS repeat_buyers, AVG(n) AS orders_each FROM (SELECT o_custkey, COUNT(*) AS n FROM orders GROUP BY o_custkey) t;

-- B23 orders_per_customer_histogram on tpch keys 1
SELECT LEAST(n, 20) AS orders, COUNT(*) AS customers FROM (SELECT o_custkey, COUNT(*) AS n FROM orders GROUP BY o_custkey) t GROUP BY 1 ORDER BY 1;

-- B24 weekday_pattern on tpch keys 1
SELECT EXTRACT(ISODOW FROM o_orderdate) AS weekday, COUNT(*) AS n, AVG(o_totalprice) AS average FROM orders GROUP BY 1 ORDER BY 1;

-- B25 to_char_labels on tpch keys 1
SELECT TO_CHAR(o_orderdate, 'YYYY-MM') AS month, COUNT(*) AS n FROM orders WHERE o_orderdate >= '1998-01-01' GROUP BY TO_CHAR(o_orderdate, 'YYYY-MM') ORDER BY 1;

-- B26 to_char_month_name on tpch keys 1
SELECT TO_CHAR(o_orderdate, 'Mon') AS month, COUNT(*) AS n FROM orders GROUP BY 1;

-- B27 quarter_labels on tpch keys 1
SELECT EXTRACT(YEAR FROM o_orderdate)::text || '-Q' || EXTRACT(QUARTER FROM o_orderdate)::text AS quarter, COUNT(*) AS n FROM orders WHERE o_orderdate >= '1996-01-01' GROUP BY 1 ORDER BY 1;

-- B28 median_and_quartiles on tpch keys 0
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY o_totalprice) AS q1, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY o_totalprice) AS median, PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY o_totalprice) AS q3 FROM orders;

-- B29 ship_delay on tpch keys 1
SELECT l_shipmode, AVG(l_receiptdate - l_shipdate) AS days, COUNT(*) FILTER (WHERE l_receiptdate > l_commitdate) * 1.0 / COUNT(*) AS late FROM lineitem GROUP BY l_shipmode ORDER BY 1;

-- B30 moving_average on tpch keys 1
SELECT week, n, AVG(n) OVER (ORDER BY week ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS smooth FROM (SELECT DATE_TRUNC('week', o_orderdate)::date AS week, COUNT(*) AS n FROM orders WHERE o_orderdate BETWEEN '1997-01-06' AND '1997-06-29' GROUP BY 1) w ORDER BY week;

-- B31 month_over_month_lag on tpch keys 1
SELECT m, revenue, revenue - LAG(revenue) OVER (ORDER BY m) AS change FROM (SELECT DATE_TRUNC('month', o_orderdate) AS m, SUM(o_totalprice) AS revenue FROM orders WHERE EXTRACT(YEAR FROM o_orderdate) = 1996 GROUP BY 1) x ORDER BY m;

-- B32 nation_revenue_join_chain on tpch keys 1
SELECT n.n_name AS nation, SUM(o.o_totalprice) AS revenue, COUNT(DISTINCT o.o_custkey) AS buyers FROM orders o JOIN customer c ON o.o_custkey = c.c_custkey JOIN nation n ON c.c_nationkey = n.n_nationkey JOIN region r ON n.n_regionkey = r.r_regionkey WHERE r.r_name = 'EUROPE' GROUP BY n.n_name ORDER BY revenue DESC;

-- B33 discount_bands on tpch keys 1
SELECT CASE WHEN l_discount = 0 THEN 'none' WHEN l_discount <= 0.05 THEN 'low' ELSE 'high' END AS band, COUNT(*) AS lines, SUM(l_extendedprice * l_discount) AS given FROM lineitem GROUP BY 1;

-- B34 return_rate_by_brand_of_part on tpch keys 1
SELECT p.p_brand, 1.0 * SUM(CASE WHEN l.l_returnflag = 'R' THEN 1 ELSE 0 END) / COUNT(*) AS rate FROM lineitem l JOIN part p ON p.p_partkey = l.l_partkey WHERE p.p_size < 10 GROUP BY p.p_brand ORDER BY 2 DESC LIMIT 10;

-- B35 kpi_row on tpch keys 0
SELECT COUNT(*) AS orders, SUM(o_totalprice) AS revenue, SUM(o_totalprice) / NULLIF(COUNT(*), 0) AS aov, COUNT(DISTINCT o_custkey) AS buyers, COUNT(*)::float / NULLIF(COUNT(DISTINCT o_custkey), 0) AS per_buyer FROM orders WHERE o_orderdate >= '1997-01-01';

-- B36 this_year_to_date on tpch keys 0
SELECT COUNT(*) AS n FROM orders WHERE o_orderdate >= DATE_TRUNC('year', CURRENT_DATE) - INTERVAL '40 years' AND o_orderdate <= CURRENT_DATE;

-- B37 rolling_365_days_ago on tpch keys 0
SELECT COUNT(*) AS n, SUM(o_totalprice) AS total FROM orders WHERE o_orderdate > NOW() - INTERVAL '50 years';

-- B38 group_by_all on tpch keys 2
SELECT o_orderstatus, o_orderpriority, COUNT(*) AS n FROM orders GROUP BY ALL ORDER BY 1, 2;

-- B39 rollup_with_labels on tpch keys 2
SELECT COALESCE(o_orderstatus, 'all') AS status, COALESCE(o_orderpriority, 'all') AS priority, COUNT(*) AS n FROM orders GROUP BY ROLLUP (o_orderstatus, o_orderpriority);

-- B40 priority_is_urgent_flag on tpch keys 1
SELECT o_orderpriority IN ('1-URGENT', '2-HIGH') AS urgent, COUNT(*) AS n FROM orders GROUP BY 1;

-- B41 prefix_of_priority on tpch keys 1
SELECT SPLIT_PART(o_orderpriority, '-', 1) AS level, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1;

-- B42 pairs_in_list on tpch keys 2
SELECT o_orderstatus, o_orderpriority, COUNT(*) AS n FROM orders WHERE (o_orderstatus, o_orderpriority) IN (('F', '1-URGENT'), ('O', '5-LOW')) GROUP BY 1, 2;

-- B43 share_of_late_lines_by_month on tpch keys 1
SELECT DATE_TRUNC('month', l_shipdate) AS m, AVG(CASE WHEN l_receiptdate > l_commitdate THEN 1.0 ELSE 0.0 END) AS late FROM lineitem WHERE l_shipdate >= '1995-01-01' AND l_shipdate < '1995-07-01' GROUP BY 1 ORDER BY 1;

-- B44 rank_segments on tpch keys 1
SELECT c_mktsegment, SUM(c_acctbal) AS balance, RANK() OVER (ORDER BY SUM(c_acctbal) DESC) AS place FROM customer GROUP BY c_mktsegment ORDER BY place;

-- B45 having_in_cte on tpch keys 1
WITH t AS (SELECT c_nationkey, COUNT(*) AS n FROM customer GROUP BY c_nationkey HAVING COUNT(*) >= 50) SELECT n.n_name, t.n FROM t JOIN nation n ON n.n_nationkey = t.c_nationkey ORDER BY t.n DESC;

-- B46 grade_distribution on university keys 1
SELECT CASE WHEN grade >= 90 THEN 'A' WHEN grade >= 80 THEN 'B' WHEN grade >= 70 THEN 'C' WHEN grade >= 60 THEN 'D' WHEN grade IS NULL THEN 'open' ELSE 'F' END AS letter, COUNT(*) AS n FROM enrollment GROUP BY 1 ORDER BY 1;

-- B47 pass_rate_by_major on university keys 1
SELECT s.major, COUNT(*) FILTER (WHERE e.grade >= 60)::numeric / NULLIF(COUNT(e.grade), 0) AS pass_rate FROM student s JOIN enrollment e ON e.uid = s.uid GROUP BY s.major ORDER BY pass_rate DESC;

-- B48 students_without_enrolment on university keys 1
SELECT s.major, COUNT(*) AS n FROM student s WHERE NOT EXISTS (SELECT * FROM enrollment e WHERE e.uid = s.uid) GROUP BY s.major;

-- B49 load_histogram on university keys 1
SELECT n AS sections, COUNT(*) AS students FROM (SELECT s.uid, COUNT(e.eid) AS n FROM student s LEFT JOIN enrollment e ON e.uid = s.uid GROUP BY s.uid) t GROUP BY n ORDER BY n;

-- B50 above_average_grades on university keys 0
SELECT COUNT(*) FROM enrollment WHERE grade > (SELECT AVG(grade) FROM enrollment);

-- B51 scholarship_buckets on university keys 1
SELECT width_bucket(amount, 0, 50000, 10) AS bucket, COUNT(*) AS n FROM scholarship GROUP BY bucket ORDER BY bucket;

-- B52 majors_with_and_without_aid on university keys 2
SELECT s.major, CASE WHEN EXISTS (SELECT 1 FROM scholarship a WHERE a.uid = s.uid) THEN 'aided' ELSE 'not' END AS aid, COUNT(*) AS n FROM student s GROUP BY 1, 2 ORDER BY 1, 2;

-- B53 review_share on university keys 1
SELECT review, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY review) * 1.0 / SUM(COUNT(*)) OVER () AS cumulative FROM enrollment WHERE review IS NOT NULL GROUP BY review ORDER BY review;

-- B54 course_level_from_title on university keys 1
SELECT LEFT(sec.title, 2) AS prefix, COUNT(*) AS n FROM enrollment e JOIN section sec ON sec.sid = e.sid GROUP BY 1 ORDER BY 2 DESC LIMIT 5;

-- B55 aid_total_per_student_average on university keys 1
SELECT s.major, AVG(t.total) AS average FROM student s JOIN (SELECT uid, SUM(amount) AS total FROM scholarship GROUP BY uid) t ON t.uid = s.uid GROUP BY s.major;

-- B56 grade_gap_to_review on university keys 1
SELECT review, AVG(grade) AS mean, STDDEV(grade) AS spread, COUNT(grade) AS n FROM enrollment GROUP BY review HAVING COUNT(grade) > 100 ORDER BY review NULLS LAST;

-- B57 faculty_age_bands on university keys 1
SELECT (age / 10) * 10 AS decade, COUNT(*) AS n, ROUND(AVG(salary)) AS pay FROM faculty GROUP BY 1 ORDER BY 1;

-- B58 students_in_same_section_pairs on university keys 0
SELECT COUNT(*) FROM enrollment a JOIN enrollment b ON a.sid = b.sid AND a.uid < b.uid WHERE a.grade >= 90 AND b.grade >= 90;

-- B59 full_outer_of_two_counts on university keys 1
SELECT COALESCE(a.major, b.major) AS major, COALESCE(a.n, 0) AS aided, COALESCE(b.n, 0) AS graded FROM (SELECT s.major, COUNT(*) AS n FROM student s JOIN scholarship x ON x.uid = s.uid GROUP BY 1) a FULL OUTER JOIN (SELECT s.major, COUNT(*) AS n FROM student s JOIN enrollment e ON e.uid = s.uid WHERE e.grade IS NOT NULL GROUP BY 1) b ON a.major = b.major;

-- B60 names_by_pattern on university keys 0
SELECT COUNT(*) FILTER (WHERE name ~* '^[a-m]') AS first_half, COUNT(*) FILTER (WHERE name LIKE '%son') AS sons FROM student;

-- B61 membership_in_a_case on university keys 1
SELECT CASE WHEN grade IN (SELECT age FROM faculty WHERE age > 60) THEN 'yes' ELSE 'no' END AS k, COUNT(*) FROM enrollment GROUP BY 1;

-- B62 membership_in_a_filter on university keys 0
SELECT COUNT(*) FILTER (WHERE review IN (SELECT age - 40 FROM faculty) OR grade > 90) FROM enrollment;
