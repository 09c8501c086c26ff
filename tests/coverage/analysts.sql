-- 38 queries that analysts write, over the university and (where it says so) TPC-H.
-- After `keys`: how many output columns, the first ones, name the group of a row.

-- A01 count_star on university keys 0
SELECT COUNT(*) AS n FROM student;

-- A02 count_star_where_private on university keys 0
SELECT COUNT(*) AS n FROM student WHERE major = 'CS';

-- A03 count_nullable_column on university keys 0
SELECT COUNT(review) AS n FROM enrollment;

-- A04 count_distinct_key on university keys 0
SELECT COUNT(DISTINCT uid) AS n FROM enrollment;

-- A05 sum_column on university keys 0
SELECT SUM(amount) AS total FROM scholarship;

-- A06 avg_nullable_column on university keys 0
SELECT AVG(grade) AS g FROM enrollment;

-- A07 min_max on university keys 0
SELECT MIN(grade) AS lo, MAX(grade) AS hi FROM enrollment;

-- A08 median on university keys 0
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY grade) AS med FROM enrollment;

-- A09 stddev on university keys 0
SELECT STDDEV(grade) AS sd FROM enrollment;

-- A10 group_by_private_key on university keys 1
SELECT major, COUNT(*) AS n FROM student GROUP BY major;

-- A11 group_by_public_key on university keys 1
SELECT sid, COUNT(*) AS n FROM enrollment GROUP BY sid;

-- A12 group_by_expression on university keys 1
SELECT grade / 10 AS bucket, COUNT(*) AS n FROM enrollment GROUP BY grade / 10;

-- A13 date_trunc on tpch keys 1
SELECT DATE_TRUNC('year', o_orderdate) AS y, COUNT(*) AS n FROM orders GROUP BY DATE_TRUNC('year', o_orderdate);

-- A14 having_on_noisy on university keys 1
SELECT major, COUNT(*) AS n FROM student GROUP BY major HAVING COUNT(*) > 100;

-- A15 order_by_noisy_limit on university keys 1
SELECT major, COUNT(*) AS n FROM student GROUP BY major ORDER BY n DESC LIMIT 3;

-- A16 case_when_pivot on university keys 0
SELECT SUM(CASE WHEN major = 'CS' THEN 1 ELSE 0 END) AS cs, SUM(CASE WHEN major = 'Math' THEN 1 ELSE 0 END) AS math FROM student;

-- A17 filters_like_between_in on tpch keys 0
SELECT COUNT(*) AS n FROM orders WHERE o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1995-12-31' AND o_orderpriority IN ('1-URGENT', '2-HIGH') AND o_clerk LIKE 'Clerk#00000000%';

-- A18 count_filter_clause on university keys 0
SELECT COUNT(*) FILTER (WHERE grade >= 90) AS a_grades, COUNT(*) AS n FROM enrollment;

-- A19 coalesce_in_aggregate on university keys 0
SELECT AVG(COALESCE(review, 3)) AS r FROM enrollment;

-- A20 ratio_of_aggregates on university keys 0
SELECT SUM(grade) / COUNT(grade) AS g FROM enrollment;

-- A21 arithmetic_over_aggregates on university keys 0
SELECT 2 * COUNT(*) + SUM(review) - 10 AS x FROM enrollment;

-- A22 key_join on university keys 0
SELECT COUNT(*) AS n FROM student s JOIN enrollment e ON s.uid = e.uid WHERE s.major = 'CS';

-- A23 key_join_group_by_parent on university keys 1
SELECT s.major, AVG(e.grade) AS g FROM student s JOIN enrollment e ON s.uid = e.uid GROUP BY s.major;

-- A24 multi_hop_join on university keys 1
SELECT c.title, COUNT(*) AS n FROM student s JOIN enrollment e ON s.uid = e.uid JOIN section c ON e.sid = c.sid JOIN faculty f ON c.fid = f.fid WHERE f.age > 40 GROUP BY c.title;

-- A25 self_join on university keys 0
SELECT COUNT(*) AS pairs FROM enrollment a JOIN enrollment b ON a.sid = b.sid WHERE a.uid < b.uid;

-- A26 left_outer_join on university keys 0
SELECT COUNT(*) AS n FROM student s LEFT JOIN scholarship h ON s.uid = h.uid WHERE h.aid IS NULL;

-- A27 in_subquery on university keys 0
SELECT COUNT(*) AS n FROM student WHERE uid IN (SELECT uid FROM scholarship WHERE amount > 20000);

-- A28 exists_correlated on university keys 0
SELECT COUNT(*) AS n FROM student s WHERE EXISTS (SELECT 1 FROM enrollment e WHERE e.uid = s.uid AND e.grade > 95);

-- A29 not_exists_correlated on university keys 0
SELECT COUNT(*) AS n FROM student s WHERE NOT EXISTS (SELECT 1 FROM enrollment e WHERE e.uid = s.uid);

-- A30 nested_histogram_of_counts on university keys 1
SELECT k, COUNT(*) AS n FROM (SELECT uid, COUNT(*) AS k FROM enrollment GROUP BY uid) t GROUP BY k;

-- A31 cte on university keys 0
WITH good AS (SELECT uid, grade FROM enrollment WHERE grade >= 80) SELECT COUNT(*) AS n, AVG(grade) AS g FROM good;

-- A32 union_all on university keys 0
SELECT COUNT(*) AS n FROM (SELECT uid FROM enrollment UNION ALL SELECT uid FROM scholarship) u;

-- A33 window_over_aggregate on university keys 1
SELECT major, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total FROM student GROUP BY major;

-- A34 second_entity_group_by_bucket on university keys 1
SELECT age / 10 AS decade, AVG(salary) AS pay FROM faculty GROUP BY age / 10;

-- A35 paper_Q1 on university keys 1
SELECT e2.uid, COUNT(*) AS n FROM (SELECT e1.sid, COUNT(*) AS enroll_count FROM enrollment e1 GROUP BY e1.sid) t INNER JOIN enrollment e2 ON t.sid = e2.sid WHERE t.enroll_count < 10 GROUP BY e2.uid;

-- A36 paper_Q2 on university keys 1
SELECT e2.review, COUNT(*) AS n FROM (SELECT e1.sid, COUNT(*) AS enroll_count FROM enrollment e1 GROUP BY e1.sid) t INNER JOIN enrollment e2 ON t.sid = e2.sid WHERE t.enroll_count > 15 GROUP BY e2.review;

-- A37 paper_Q3 on university keys 0
SELECT COUNT(*) AS n FROM (SELECT e.uid, COUNT(*) AS enroll_count FROM enrollment e GROUP BY e.uid) t INNER JOIN scholarship s ON t.uid = s.uid WHERE t.enroll_count > 4;

-- A38 paper_Q4 on university keys 1
SELECT s.fid, AVG(e.review) AS r FROM section s INNER JOIN enrollment e ON s.sid = e.sid GROUP BY s.fid;
