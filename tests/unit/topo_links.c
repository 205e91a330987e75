/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Topology files, and the rings that follow from them.
 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "topo/links.h"

static char path[] = "/tmp/hccl_links.XXXXXX";

static int open_file(void **state)
{
    int fd = mkstemp(path);

    (void) state;
    return 0 > fd ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void) state;
    return unlink(path);
}

static void write_bytes(const char *text, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(len, fwrite(text, 1, len, file));
    assert_int_equal(0, fclose(file));
}

static void write_text(const char *text)
{
    write_bytes(text, strlen(text));
}

static hccl_links_t *read_file(void)
{
    char why[HCCL_LINKS_WHY] = "";
    hccl_links_t *links = NULL;

    if (HCCL_OK != hccl_links_read(path, &links, why)) {
        fail_msg("%s", why);
    }
    return links;
}

static hccl_links_t *read_text(const char *text)
{
    write_text(text);
    return read_file();
}

/* ---- files ---------------------------------------------------------------------------------------- */

static void all_lines(void **state)
{
    (void) state;
    hccl_links_t *links = read_text("# a remark\n"
                                    "topology  node:3   core:2 map:cyclic\n"
                                    "\n"
                                    "host alpha beta.example.org\n"
                                    "host\tgamma # and another one\n"
                                    "port 0-3 mlx5_0:1\nport 4-5 mlx5_1\n"
                                    "link alpha beta latency_us=12.5 bandwidth_mbs=1000\n"
                                    "link gamma alpha latency_us=10 bandwidth_mbs=2e3\r\n"
                                    "link beta.example.org gamma latency_us=1 bandwidth_mbs=500");
    assert_int_equal(3, links->nhosts);
    assert_string_equal("node:3 core:2 map:cyclic", links->topology);
    assert_string_equal("0-3=mlx5_0:1,4-5=mlx5_1", links->ports);
    assert_true(links->weighted);
    /* nanoseconds of 256 KiB: 12.5 us + 262.144 us, 10 + 131.072, 1 + 524.288 */
    const uint32_t cost[9] = {0, 274644, 141072, 274644, 0, 525288, 141072, 525288, 0};
    assert_memory_equal(cost, links->cost, sizeof(cost));
    assert_int_equal(0, hccl_links_find(links, "alpha"));
    assert_int_equal(0, hccl_links_find(links, "alpha.example.org"));
    assert_int_equal(1, hccl_links_find(links, "beta"));
    assert_int_equal(1, hccl_links_find(links, "beta.example.org"));
    assert_int_equal(-1, hccl_links_find(links, "beta.other.org"));
    assert_int_equal(-1, hccl_links_find(links, "bet"));
    assert_int_equal(-1, hccl_links_find(links, "betas"));
    const uint64_t hash = links->hash;
    hccl_links_free(links);
    links = read_text("host a b\n");
    assert_false(links->weighted);
    assert_true(hash != links->hash);
    assert_string_equal("", links->topology);
    assert_string_equal("", links->ports);
    hccl_links_free(links);
    links = read_text("");
    assert_int_equal(0, links->nhosts);
    hccl_links_free(links);
}

/* Two switches; one pair has a line of its own. */
static void switches(void **state)
{
    (void) state;
    hccl_links_t *links = read_text("host a b c d\nswitch a c\nswitch b d\nwithin cost=2\n"
                                    "across cost=7\nlink a b cost=3\nlink b a cost=3\n");
    const uint32_t cost[16] = {0,    3000, 2000, 7000, 3000, 0,    7000, 2000,
                               2000, 7000, 0,    7000, 7000, 2000, 7000, 0};
    assert_memory_equal(cost, links->cost, sizeof(cost));
    hccl_links_free(links);
}

static void refused(void **state)
{
    (void) state;
    static const struct {
        const char *text;
        int line;
        const char *word;
    } cases[] = {
        {"hosts a b\n", 1, "\"hosts\" is no kind of line; accepted: topology, host, switch"},
        {"host\n", 1, "a name must follow"},
        {"host a\n\nhost b a\n", 3, "host a is there already"},
        {"host a b\nlink a b cost=1\nhost c\n", 3, "all host lines must come before"},
        {"host a b\nlink a c cost=1\n", 2, "c is no host"},
        {"host a b\nlink a\n", 2, "two hosts and a weight must follow"},
        {"host a b\nlink a b\n", 2, "two hosts and a weight must follow"},
        {"host a b\nlink a a cost=1\n", 2, "a link from a to itself"},
        {"host a b\nlink a b 7\n", 2, "\"7\" where cost=NUMBER"},
        {"host a b\nlink a b cost=\n", 2, "a number above 0"},
        {"host a b\nlink a b cost=0\n", 2, "a number above 0"},
        {"host a b\nlink a b cost=-3\n", 2, "\"cost=-3\": a number above 0"},
        {"host a b\nlink a b cost=nan\n", 2, "a number above 0"},
        {"host a b\nlink a b cost=inf\n", 2, "a number above 0"},
        {"host a b\nlink a b cost=1x\n", 2, "a number above 0"},
        {"host a b\nlink a b latency_us=1\n", 2, "\"latency_us=1\" where cost=NUMBER"},
        {"host a b\nlink a b latency_us=1 bandwidth_mbs=0\n", 2, "above 0"},
        {"host a b\nlink a b bandwidth_mbs=1 latency_us=1\n", 2, "latency_us=NUMBER is needed"},
        {"host a b\nlink a b cost=1 cost=1 cost=1\n", 2, "must follow"},
        {"host a b\nlink a b cost=1\nlink b a cost=2\n", 3,
         "must weigh the same as that back, in line 2"},
        {"host a b\nlink a b cost=1\nlink a b cost=1\n", 3, "is there already, in line 2"},
        {"host a b c\nlink a b cost=1\nlink a c latency_us=1 bandwidth_mbs=1\n", 3, "all give lat"},
        {"host a b c\nlink a b cost=1\nlink b c cost=1\n", 0, "no weight between a and c: a link"},
        {"host a b c\nswitch a b\nswitch c\nwithin cost=1\n", 0,
         "between a and c: a link line for them "
         "is needed, or switch lines with both "
         "and a across line"},
        {"host a b\nswitch a b\n", 0, "and a within line"},
        {"host a b\nswitch a\nswitch b a\n", 3, "a is below another switch already"},
        {"host a b\nswitch\n", 2, "the hosts below it must follow"},
        {"within cost=1\nwithin cost=2\n", 2, "within is there already"},
        {"within\n", 1, "within: cost=NUMBER, or"},
        {"topology node:x\n", 1, "character 6"},
        {"topology node:2\ntopology node:2\n", 2, "topology is there already"},
        {"topology\n", 1, "no level given"},
        {"port 0-3\n", 1, "ranks and a port must follow"},
        {"port 3-0 a\n", 1, "entry \"3-0=a\": ranks must be"},
        {"port 0 a:0\n", 1, "1 to 255"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[HCCL_LINKS_WHY] = "", line[32] = "";
        hccl_links_t *links = NULL;
        write_text(cases[i].text);
        assert_int_equal(HCCL_ERR_ARG, hccl_links_read(path, &links, why));
        assert_null(links);
        if (0 < cases[i].line) {
            snprintf(line, sizeof(line), ", line %d: ", cases[i].line);
        }
        if (NULL == strstr(why, path) || NULL == strstr(why, line)
            || NULL == strstr(why, cases[i].word)) {
            fail_msg("\"%s\": %s", cases[i].text, why);
        }
    }
}

/* Sets a locale whose decimal point is a comma: one of the system's, else one made here. */
static bool set_comma(char *dir)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    char command[256];
    bool found = false;

    for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++) {
        found = NULL != setlocale(LC_ALL, names[i]);
    }
    if (!found && NULL != mkdtemp(dir)) {
        snprintf(command, sizeof(command),
                 "localedef -c -i de_DE -f UTF-8 %s/hccl.UTF-8 >/dev/null 2>&1", dir);
        found = 0 == system(command) && 0 == setenv("LOCPATH", dir, 1)
                && NULL != setlocale(LC_ALL, "hccl.UTF-8");
    }
    return found && ',' == localeconv()->decimal_point[0];
}

/* A program may have called setlocale before MPI_Init: what a file means does not depend on it. */
static void other_decimal_point(void **state)
{
    (void) state;
    char dir[] = "/tmp/hccl_locale.XXXXXX", command[256], why[HCCL_LINKS_WHY] = "";
    const bool set = set_comma(dir);
    hccl_links_t *links = NULL;
    uint32_t cost = 0;

    write_text("host a b\nlink a b cost=2.5\n");
    const int point = hccl_links_read(path, &links, why);
    if (HCCL_OK == point) {
        cost = links->cost[1];
        hccl_links_free(links);
    }
    write_text("host a b\nlink a b cost=2,5\n");
    const int comma = hccl_links_read(path, &links, why);
    (void) setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(0, system(command));
    assert_int_equal(HCCL_OK, point);
    assert_int_equal(2500, cost);
    assert_int_equal(HCCL_ERR_ARG, comma);
    if (!set) {
        skip();
    }
}

static void unreadable(void **state)
{
    (void) state;
    char why[HCCL_LINKS_WHY] = "";
    hccl_links_t *links = NULL;

    assert_int_equal(HCCL_ERR_NOTSUP, hccl_links_read("/nonexistent/file", &links, why));
    assert_non_null(strstr(why, "/nonexistent/file: cannot be read: No such file"));
    assert_int_equal(HCCL_ERR_NOTSUP, hccl_links_read("/tmp", &links, why));
    assert_non_null(strstr(why, "cannot be read"));
}

static void zero_bytes(void **state)
{
    (void) state;
    const char text[] = "host a\0b\n", zeros[4096] = "";
    char why[HCCL_LINKS_WHY] = "";
    hccl_links_t *links = NULL;

    write_bytes(text, sizeof(text) - 1);
    assert_int_equal(HCCL_ERR_ARG, hccl_links_read(path, &links, why));
    assert_non_null(strstr(why, ", line 1: a byte of value 0"));
    /* as a file looks after a crash of its machine */
    write_bytes(zeros, sizeof(zeros));
    assert_int_equal(HCCL_ERR_ARG, hccl_links_read(path, &links, why));
    assert_null(links);
}

/* ---- rings ---------------------------------------------------------------------------------------- */

static uint64_t rng_state = 11;
static unsigned rng(unsigned below)
{
    rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned) (rng_state >> 33) % below;
}

/* What holds of every file that is read. */
static void check_links(const hccl_links_t *links)
{
    assert_true(0 <= links->nhosts && links->nhosts <= HCCL_LINKS_MAX_HOSTS);
    for (int a = 0; a < links->nhosts; a++) {
        assert_true('\0' != links->host[a][0]);
        assert_true(0 <= hccl_links_find(links, links->host[a]));
        for (int b = 0; links->weighted && b < links->nhosts; b++) {
            const uint32_t cost = links->cost[a * links->nhosts + b];
            assert_int_equal(links->cost[b * links->nhosts + a], cost);
            assert_true((a == b) == (0 == cost));
        }
    }
}

/* One change to the bytes of a file; their new number. */
static size_t damage(char *text, size_t len)
{
    static const char *const pieces[] = {"\n",    " ",         "#", "\r", "=",
                                         "host ", "link a b ", "9", "-",  "switch"};
    const size_t at = rng((unsigned) len + 1);
    const char *piece = pieces[rng(sizeof(pieces) / sizeof(pieces[0]))];

    switch (rng(4)) {
    case 0: /* cut short */
        return at;
    case 1: /* any byte */
        text[at] = (char) rng(256);
        return at < len ? len : at + 1;
    case 2: /* something put in */
        memmove(text + at + strlen(piece), text + at, len - at);
        memcpy(text + at, piece, strlen(piece));
        return len + strlen(piece);
    default: /* something left out */
        memmove(text + at, text + (at + 3 < len ? at + 3 : len), at + 3 < len ? len - at - 3 : 0);
        return at + 3 < len ? len - 3 : at;
    }
}

/* Files that were cut short or damaged: read, or refused by a message that names the file. */
static void damaged(void **state)
{
    (void) state;
    static const char *const texts[] = {
        "topology node:3 core:2 map:cyclic\nhost alpha beta.example.org gamma\n"
        "link alpha beta latency_us=12.5 bandwidth_mbs=1000\n"
        "link gamma alpha latency_us=10 bandwidth_mbs=2e3\r\n"
        "link beta.example.org gamma latency_us=1 bandwidth_mbs=500\nport 0-3 mlx5_0:1\n",
        "host a b c d # four\nswitch a c\nswitch b d\nwithin cost=2\nacross cost=7\n"
        "link a b cost=3\nlink b a cost=3\n"};
    int taken = 0, refused_ones = 0;

    for (int round = 0; round < 4000; round++) {
        char text[512], why[HCCL_LINKS_WHY] = "";
        hccl_links_t *links = NULL;
        size_t len = strlen(texts[round % 2]);
        memcpy(text, texts[round % 2], len);
        for (unsigned i = 0, n = 1 + rng(3); i < n; i++) {
            len = damage(text, len);
        }
        write_bytes(text, len);
        const int rc = hccl_links_read(path, &links, why);
        if (HCCL_OK == rc) {
            check_links(links);
            hccl_links_free(links);
            taken++;
        } else {
            assert_int_equal(HCCL_ERR_ARG, rc);
            assert_null(links);
            assert_non_null(strstr(why, path));
            refused_ones++;
        }
    }
    assert_true(200 < taken && 200 < refused_ones);
}

/* A map without a file. */
static hccl_links_t *make_links(int n)
{
    hccl_links_t *links = calloc(1, sizeof(*links));

    assert_non_null(links);
    links->weighted = true;
    links->cost = calloc((size_t) n * (size_t) n, sizeof(*links->cost));
    assert_non_null(links->cost);
    links->nhosts = n;
    links->host = calloc((size_t) n, sizeof(*links->host));
    assert_non_null(links->host);
    return links;
}

static void set_cost(hccl_links_t *links, int a, int b, uint32_t cost)
{
    links->cost[a * links->nhosts + b] = links->cost[b * links->nhosts + a] = cost;
}

static uint32_t cost_of(const hccl_links_t *links, int a, int b)
{
    return links->cost[a * links->nhosts + b];
}

/* Hosts 0, ..., n - 1 in the ring that is found. */
static void ring_of(const hccl_links_t *links, int *ring)
{
    int host[300];
    bool seen[300] = {false};

    for (int i = 0; i < links->nhosts; i++) {
        host[i] = i;
    }
    assert_int_equal(HCCL_OK, hccl_links_tour(links, host, links->nhosts, ring));
    for (int i = 0; i < links->nhosts; i++) {
        assert_true(0 <= ring[i] && ring[i] < links->nhosts && !seen[ring[i]]);
        seen[ring[i]] = true;
    }
}

static int crossings(const int *ring, int n, int switches_)
{
    int sum = 0;

    for (int i = 0; i < n; i++) {
        sum += ring[i] % switches_ != ring[(i + 1) % n] % switches_;
    }
    return sum;
}

/* Whether these are the same rings, from wherever and whichever way round. */
static bool same_ring(const int *a, const int *b, int n)
{
    int at = 0;
    bool ahead = true, back = true;

    while (a[0] != b[at]) {
        at++;
    }
    for (int i = 0; i < n; i++) {
        ahead = ahead && a[i] == b[(at + i) % n];
        back = back && a[i] == b[(at - i + n) % n];
    }
    return ahead || back;
}

/* Host i is below switch i modulo so many: a ring must leave each switch once. */
static void along_switches(void **state)
{
    (void) state;
    static const struct {
        int hosts, switches;
    } cases[] = {{4, 2}, {6, 3}, {8, 2}, {9, 3}, {10, 5}, {12, 2}, {32, 4}, {60, 6}, {256, 16}};

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const int n = cases[c].hosts, s = cases[c].switches;
        hccl_links_t *links = make_links(n);
        int ring[300];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                set_cost(links, a, b, a % s == b % s ? 100 : 400);
            }
        }
        ring_of(links, ring);
        const int found = crossings(ring, n, s);
        if (s != found) {
            fail_msg("%d hosts below %d switches: %d crossings", n, s, found);
        }
        assert_true(ring[0] % s != ring[n - 1] % s); /* begins where a switch does */
        hccl_links_free(links);
    }
}

static void worked_out(void **state)
{
    (void) state;
    const int expected[] = {0, 2, 1, 3}, given[] = {0, 1, 2, 3}, slow[] = {0, 1, 3, 2};
    hccl_links_t *links = make_links(4);
    int ring[4];

    /* fast: 0-2, 2-1, 1-3, 3-0 */
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < a; b++) {
            set_cost(links, a, b, 2 == a + b || 4 == a + b ? 5 : 9);
        }
    }
    set_cost(links, 0, 2, 1);
    set_cost(links, 2, 1, 1);
    set_cost(links, 1, 3, 1);
    set_cost(links, 3, 0, 1);
    ring_of(links, ring);
    assert_true(same_ring(expected, ring, 4));
    /* all alike: as given */
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < a; b++) {
            set_cost(links, a, b, 7);
        }
    }
    ring_of(links, ring);
    assert_memory_equal(given, ring, sizeof(ring));
    /* 0-1-2-3 has 10, 10, 10, 10; 0-1-3-2 has 10, 1, 10, 18: less in sum, but one slow link; and
     * 0-2-1-3: 18, 10, 1, 10 */
    set_cost(links, 0, 1, 10);
    set_cost(links, 1, 2, 10);
    set_cost(links, 2, 3, 10);
    set_cost(links, 3, 0, 10);
    set_cost(links, 1, 3, 1);
    set_cost(links, 0, 2, 18);
    ring_of(links, ring);
    assert_memory_equal(given, ring, sizeof(ring));
    set_cost(links, 0, 2, 11); /* now 1000 + 1 + 1000 + 1331 < 4000 */
    ring_of(links, ring);
    assert_true(same_ring(slow, ring, 4) || same_ring((const int[]){0, 2, 1, 3}, ring, 4));
    hccl_links_free(links);
}

static double cubes(const hccl_links_t *links, const int *ring)
{
    double sum = 0;

    for (int i = 0; i < links->nhosts; i++) {
        const double cost = cost_of(links, ring[i], ring[(i + 1) % links->nhosts]);
        sum += cost * cost * cost;
    }
    return sum;
}

/* All orders of ring[at], ..., for the least sum. */
static void try_all(const hccl_links_t *links, int *ring, int at, double *least)
{
    const int n = links->nhosts;

    if (at == n) {
        const double sum = cubes(links, ring);
        *least = sum < *least ? sum : *least;
        return;
    }
    for (int i = at; i < n; i++) {
        int swap = ring[at];
        ring[at] = ring[i];
        ring[i] = swap;
        try_all(links, ring, at + 1, least);
        swap = ring[at];
        ring[at] = ring[i];
        ring[i] = swap;
    }
}

/* Small: none is shorter. Costs in a range that scaling does not blur. */
static void nothing_is_shorter(void **state)
{
    (void) state;
    for (int run = 0; run < 60; run++) {
        const int n = 2 + run % 7;
        hccl_links_t *links = make_links(n);
        int ring[16], all[16];
        double least = 1e300;
        for (int a = 0; a < n; a++) {
            all[a] = a;
            for (int b = 0; b < a; b++) {
                set_cost(links, a, b, 10 + rng(90));
            }
        }
        ring_of(links, ring);
        try_all(links, all, 1, &least);
        if (cubes(links, ring) > least * 1.001) {
            fail_msg("%d hosts: %g, possible is %g", n, cubes(links, ring), least);
        }
        hccl_links_free(links);
    }
}

/* Many hosts, whatever the costs: turning no stretch of the ring round makes it shorter. */
static void no_turn_is_shorter(void **state)
{
    (void) state;
    for (int n = 11; n <= 61; n += 10) {
        hccl_links_t *links = make_links(n);
        int ring[300];
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                set_cost(links, a, b, 10 + rng(90));
            }
        }
        ring_of(links, ring);
        for (int i = 0; i < n; i++) {
            for (int k = i + 2; k < n; k++) {
                const double a = cost_of(links, ring[i], ring[i + 1]);
                const double b = cost_of(links, ring[k], ring[(k + 1) % n]);
                const double c = cost_of(links, ring[i], ring[k]);
                const double d = cost_of(links, ring[i + 1], ring[(k + 1) % n]);
                if ((i + n - k) % n > 1
                    && c * c * c + d * d * d < 0.999 * (a * a * a + b * b * b)) {
                    fail_msg("%d hosts: turning places %d to %d is shorter", n, i + 1, k);
                }
            }
        }
        hccl_links_free(links);
    }
}

/* Places on a circle, shuffled: the circle. */
static void round_a_circle(void **state)
{
    (void) state;
    for (int n = 11; n <= 80; n += 23) {
        hccl_links_t *links = make_links(n);
        int place[300], ring[300];
        for (int i = 0; i < n; i++) {
            place[i] = i;
        }
        for (int i = n - 1; i > 0; i--) {
            const int k = (int) rng((unsigned) i + 1), swap = place[i];
            place[i] = place[k];
            place[k] = swap;
        }
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                const int d = abs(place[a] - place[b]);
                set_cost(links, a, b, 100 * (uint32_t) (d < n - d ? d : n - d));
            }
        }
        ring_of(links, ring);
        for (int i = 0; i < n; i++) {
            const uint32_t step = cost_of(links, ring[i], ring[(i + 1) % n]);
            if (100 != step) {
                fail_msg("%d places: a step of %d", n, (int) step);
            }
        }
        hccl_links_free(links);
    }
}

/* ---- shapes --------------------------------------------------------------------------------------- */

static hccl_shape_t *shape_of(const char *text)
{
    char why[200] = "";
    hccl_shape_t *shape = NULL;

    if (HCCL_OK != hccl_shape_from_text(text, -1, &shape, why, sizeof(why))) {
        fail_msg("%s", why);
    }
    return shape;
}

static void order_of_shapes(void **state)
{
    (void) state;
    hccl_links_t *links = read_text("host a b c d\nswitch a c\nswitch b d\nwithin cost=1\n"
                                    "across cost=9\n");
    hccl_shape_t *shape = shape_of("node:4 core:2");
    const int all[] = {0, 1, 2, 3}, some[] = {0, -1, 2, 3}, others[] = {3, 0, 1, 2};
    const uint64_t hash = shape->hash;
    char why[200] = "", text[100];

    assert_int_equal(HCCL_OK, hccl_links_order(links, some, shape));
    assert_false(shape->ringed);
    assert_int_equal(HCCL_OK, hccl_links_order(links, others, shape)); /* d a b c: d b, then a c */
    assert_true(shape->ringed);
    assert_int_equal(2, abs(shape->ring[0] - shape->ring[1]));
    assert_int_equal(2, abs(shape->ring[2] - shape->ring[3]));
    assert_int_equal(HCCL_OK, hccl_shape_check(shape, why, sizeof(why)));
    assert_true(hash != shape->hash);
    assert_true(0 < hccl_shape_print(shape, text, sizeof(text)));
    assert_non_null(strstr(text, "node:4 core:2 ring:"));
    hccl_shape_free(shape);
    shape = shape_of("node:2 core:2"); /* one link: nothing to choose */
    assert_int_equal(HCCL_OK, hccl_links_order(links, all, shape));
    assert_false(shape->ringed);
    hccl_shape_free(shape);
    hccl_links_free(links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_lines),
        cmocka_unit_test(switches),
        cmocka_unit_test(refused),
        cmocka_unit_test(unreadable),
        cmocka_unit_test(zero_bytes),
        cmocka_unit_test(damaged),
        cmocka_unit_test(along_switches),
        cmocka_unit_test(worked_out),
        cmocka_unit_test(other_decimal_point),
        cmocka_unit_test(no_turn_is_shorter),
        cmocka_unit_test(round_a_circle),
        cmocka_unit_test(nothing_is_shorter),
        cmocka_unit_test(order_of_shapes),
    };
    return cmocka_run_group_tests_name("topo_links", tests, open_file, remove_file);
}
