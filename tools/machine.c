/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Machine descriptions: `key = value` lines, `#` begins a comment. One table says all of the keys.
 */
#include "machine.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { KIND_TEXT, KIND_TIME, KIND_SPEED, KIND_SIZE, KIND_COUNT, KIND_RATIO } kind_t;

typedef struct field {
    const char *key;
    kind_t kind;
    size_t offset;
    double least, most;
    double preset;
    const char *about;
} field_t;

#define AT(member) offsetof(hccl_machine_t, member)

static const field_t fields[] = {
    {"name", KIND_TEXT, AT(name), 0, 0, 0, "what plots and tables call it"},
    {"topology", KIND_TEXT, AT(topology), 0, 0, 0, "as in `node:4 numa:2 core:2`"},
    {"l3.alpha", KIND_TIME, AT(tier[HCCL_TIER_L3].alpha), 0, 1, 80e-9, "flag, common L3 cache"},
    {"l3.bandwidth", KIND_SPEED, AT(tier[HCCL_TIER_L3].bandwidth), 1, 1e15, 30e9, "reading"},
    {"numa.alpha", KIND_TIME, AT(tier[HCCL_TIER_NUMA].alpha), 0, 1, 130e-9, "flag, common domain"},
    {"numa.bandwidth", KIND_SPEED, AT(tier[HCCL_TIER_NUMA].bandwidth), 1, 1e15, 20e9, "reading"},
    {"package.alpha", KIND_TIME, AT(tier[HCCL_TIER_PACKAGE].alpha), 0, 1, 200e-9,
     "flag, common package"},
    {"package.bandwidth", KIND_SPEED, AT(tier[HCCL_TIER_PACKAGE].bandwidth), 1, 1e15, 15e9,
     "reading"},
    {"node.alpha", KIND_TIME, AT(tier[HCCL_TIER_NODE].alpha), 0, 1, 300e-9, "flag, common node"},
    {"node.bandwidth", KIND_SPEED, AT(tier[HCCL_TIER_NODE].bandwidth), 1, 1e15, 10e9, "reading"},
    {"copy.bandwidth", KIND_SPEED, AT(copy), 1, 1e15, 12e9, "within a rank's own memory"},
    {"combine.bandwidth", KIND_SPEED, AT(combine), 1, 1e15, 10e9, "of each operand but the first"},
    {"inside.alpha", KIND_TIME, AT(inside_alpha), 0, 10, 300e-9,
     "message inside a node, beside the flag"},
    {"inside.bandwidth", KIND_SPEED, AT(inside_speed), 1, 1e15, 6e9, "of such messages"},
    {"message.overhead", KIND_TIME, AT(overhead), 0, 10, 200e-9,
     "processor, each message, each end"},
    {"network.alpha", KIND_TIME, AT(alpha), 0, 10, 1.5e-6, "latency between nodes"},
    {"network.bandwidth", KIND_SPEED, AT(bandwidth), 1, 1e15, 12.5e9, "of each NIC, each way"},
    {"network.nics", KIND_COUNT, AT(nics), 1, 64, 1, "per node"},
    {"network.eager", KIND_SIZE, AT(eager), 0, 1e15, 65536,
     "longer messages wait for the receiver"},
    {"network.rendezvous", KIND_TIME, AT(rendezvous), 0, 10, 3e-6, "... and start this much later"},
    {"network.burst", KIND_SIZE, AT(burst), 0, 1e15, 0, "bytes that pass faster, as by `tc tbf`"},
    {"network.peak", KIND_SPEED, AT(peak), 1, 1e15, 1e9, "... at this speed"},
    {"switch.nodes", KIND_COUNT, AT(leaf), 0, 1 << 20, 0,
     "below one leaf switch; 0: no second level"},
    {"switch.oversubscription", KIND_RATIO, AT(oversubscribed), 0.01, 1e4, 1,
     "NICs below a leaf by its uplinks"},
    {"switch.alpha", KIND_TIME, AT(leaf_alpha), 0, 10, 0, "more latency between leaves"},
    {"ring.slots", KIND_COUNT, AT(slots), 1, 64, 8, "coll_hccl_slots"},
    {"ring.small", KIND_SIZE, AT(slot_small), 256, 1 << 20, 4096, "coll_hccl_slot_small"},
    {"ring.large", KIND_SIZE, AT(slot_large), 4096, 16 << 20, 32768, "coll_hccl_slot_large"},
    {"ring.wide", KIND_SIZE, AT(slot_wide), 4096, 64 << 20, 262144, "coll_hccl_slot_wide"},
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

typedef struct unit {
    kind_t kind;
    const char *name;
    double factor;
} unit_t;

static const unit_t units[] = {
    {KIND_TIME, "ns", 1e-9},       {KIND_TIME, "us", 1e-6},       {KIND_TIME, "ms", 1e-3},
    {KIND_TIME, "s", 1},           {KIND_SPEED, "B/s", 1},        {KIND_SPEED, "kB/s", 1e3},
    {KIND_SPEED, "MB/s", 1e6},     {KIND_SPEED, "GB/s", 1e9},     {KIND_SPEED, "kbit/s", 125},
    {KIND_SPEED, "Mbit/s", 125e3}, {KIND_SPEED, "Gbit/s", 125e6}, {KIND_SIZE, "", 1},
    {KIND_SIZE, "k", 1024},        {KIND_SIZE, "m", 1048576},     {KIND_SIZE, "g", 1073741824},
    {KIND_COUNT, "", 1},           {KIND_RATIO, "", 1},
};

static const char *const accepted[] = {"a text",
                                       "a time in ns, us, ms or s, as 1.5us",
                                       "a speed in kB/s, MB/s, GB/s, kbit/s, Mbit/s or Gbit/s",
                                       "a number of bytes; k, m or g may follow",
                                       "a whole number",
                                       "a number"};

static void *member(hccl_machine_t *machine, const field_t *field)
{
    return (char *) machine + field->offset;
}

static const field_t *find(const char *key)
{
    for (int i = 0; i < FIELDS; i++) {
        if (0 == strcmp(key, fields[i].key)) {
            return &fields[i];
        }
    }
    return NULL;
}

void hccl_machine_default(hccl_machine_t *machine)
{
    memset(machine, 0, sizeof(*machine));
    strcpy(machine->name, "default");
    for (int i = 0; i < FIELDS; i++) {
        if (KIND_TEXT != fields[i].kind) {
            *(double *) member(machine, &fields[i]) = fields[i].preset;
        }
    }
}

double *hccl_machine_number(hccl_machine_t *machine, const char *key)
{
    const field_t *field = find(key);
    return NULL == field || KIND_TEXT == field->kind ? NULL : member(machine, field);
}

/* The number with its unit; false: it is none, or the unit is another kind's. */
static bool parse_number(const field_t *field, const char *text, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    if (end == text || 0 != errno || !isfinite(*value)) {
        return false;
    }
    while (isblank((unsigned char) *end)) {
        end++;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].kind == field->kind && 0 == strcmp(end, units[i].name)) {
            *value *= units[i].factor;
            return KIND_COUNT != field->kind || *value == floor(*value);
        }
    }
    return KIND_TIME == field->kind && '\0' == *end && 0 == *value; /* nothing needs no unit */
}

int hccl_machine_set(hccl_machine_t *machine, const char *key, const char *value, char *why)
{
    const field_t *field = find(key);
    double number;
    if (NULL == field) {
        int at = snprintf(why, HCCL_MACHINE_WHY, "no such key '%.40s'; there are", key);
        for (int i = 0; i < FIELDS && at < HCCL_MACHINE_WHY; i++) {
            at += snprintf(why + at, (size_t) (HCCL_MACHINE_WHY - at), " %s", fields[i].key);
        }
        return HCCL_ERR_ARG;
    }
    if (KIND_TEXT == field->kind) {
        if (strlen(value) >= HCCL_MACHINE_TEXT) {
            snprintf(why, HCCL_MACHINE_WHY, "%s: at most %d characters", key,
                     HCCL_MACHINE_TEXT - 1);
            return HCCL_ERR_ARG;
        }
        strcpy(member(machine, field), value);
        return HCCL_OK;
    }
    if (!parse_number(field, value, &number)) {
        snprintf(why, HCCL_MACHINE_WHY, "%s takes %s, not '%.80s'", key, accepted[field->kind],
                 value);
        return HCCL_ERR_ARG;
    }
    if (number < field->least || number > field->most) {
        snprintf(why, HCCL_MACHINE_WHY,
                 "%s must be between %g and %g (in seconds, bytes, bytes per "
                 "second), not '%.80s'",
                 key, field->least, field->most, value);
        return HCCL_ERR_ARG;
    }
    *(double *) member(machine, field) = number;
    return HCCL_OK;
}

/* Removes blanks at both ends. */
static char *trim(char *text)
{
    while (isspace((unsigned char) *text)) {
        text++;
    }
    for (size_t n = strlen(text); n > 0 && isspace((unsigned char) text[n - 1]); n--) {
        text[n - 1] = '\0';
    }
    return text;
}

/* One line; `seen` marks the fields that the file has set already. */
static int read_line(hccl_machine_t *machine, char *line, bool *seen, char *why)
{
    char *comment = strchr(line, '#');
    if (NULL != comment) {
        *comment = '\0';
    }
    line = trim(line);
    if ('\0' == *line) {
        return HCCL_OK;
    }
    char *value = strchr(line, '=');
    if (NULL == value) {
        snprintf(why, HCCL_MACHINE_WHY, "'%.80s' is no `key = value`", line);
        return HCCL_ERR_ARG;
    }
    *value = '\0';
    char *key = trim(line);
    int rc = hccl_machine_set(machine, key, trim(value + 1), why);
    if (HCCL_OK == rc) {
        size_t index = (size_t) (find(key) - fields);
        if (seen[index]) {
            snprintf(why, HCCL_MACHINE_WHY, "%s is there twice", key);
            return HCCL_ERR_ARG;
        }
        seen[index] = true;
    }
    return rc;
}

int hccl_machine_read(const char *path, hccl_machine_t *machine, char *why)
{
    char line[1024], reason[HCCL_MACHINE_WHY];
    bool seen[FIELDS] = {false};
    int rc = HCCL_OK;
    FILE *file = fopen(path, "r");
    if (NULL == file) {
        snprintf(why, HCCL_MACHINE_WHY, "%.300s: %s", path, strerror(errno));
        return HCCL_ERR_ARG;
    }
    for (int number = 1; HCCL_OK == rc && NULL != fgets(line, sizeof(line), file); number++) {
        if (NULL == strchr(line, '\n') && !feof(file)) {
            snprintf(reason, sizeof(reason), "the line is longer than %zu characters",
                     sizeof(line) - 2);
            rc = HCCL_ERR_ARG;
        } else {
            rc = read_line(machine, line, seen, reason);
        }
        if (HCCL_OK != rc) {
            snprintf(why, HCCL_MACHINE_WHY, "%.100s:%d: %.380s", path, number, reason);
        }
    }
    if (HCCL_OK == rc && 0 != ferror(file)) {
        snprintf(why, HCCL_MACHINE_WHY, "%.300s: cannot be read", path);
        rc = HCCL_ERR_ARG;
    }
    fclose(file);
    return rc;
}

/* In the largest unit in which it is 1 or more. */
static void print_value(FILE *file, const field_t *field, double value)
{
    const unit_t *best = NULL;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        const unit_t *u = &units[i];
        bool decimal = KIND_SPEED != u->kind || NULL == strstr(u->name, "bit");
        bool whole = KIND_SIZE != u->kind || 0 == fmod(value, u->factor);
        if (u->kind == field->kind && decimal && whole
            && (NULL == best || (value >= u->factor && u->factor > best->factor))) {
            best = u;
        }
    }
    if (NULL == best) {
        return; /* no kind is without units */
    }
    fprintf(file, "%.9g%s", value / best->factor, best->name);
}

void hccl_machine_print(FILE *file, const hccl_machine_t *machine)
{
    hccl_machine_t copy = *machine;
    for (int i = 0; i < FIELDS; i++) {
        const field_t *field = &fields[i];
        const void *value = member(&copy, field);
        if (KIND_TEXT == field->kind && '\0' == *(const char *) value) {
            continue;
        }
        fprintf(file, "%-24s= ", field->key);
        if (KIND_TEXT == field->kind) {
            fputs(value, file);
        } else {
            print_value(file, field, *(const double *) value);
        }
        fprintf(file, "   # %s\n", field->about);
    }
}
