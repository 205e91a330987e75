/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MCA parameters: registration from params.def and collectives.def, and what is done with a
 * value that is none. coll_hccl_checks.c checks the others.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/value.h"
#include "coll_hccl.h"

hccl_params_t hccl_params = {
#define HCCL_PARAM(name, type, value, minimum, maximum, same, text) .name = value,
#include "base/params.def"
#undef HCCL_PARAM
};

#define VAR_INT MCA_BASE_VAR_TYPE_INT
#define VAR_SIZE MCA_BASE_VAR_TYPE_SIZE_T
#define VAR_BOOL MCA_BASE_VAR_TYPE_BOOL
#define VAR_TEXT MCA_BASE_VAR_TYPE_STRING

/* The first parameter whose value is none of its type, for one message about it; name empty: none. */
static struct {
    char name[64];
    char value[96];
    char accepted[96];
} unreadable;

/* The variable of environment.def that stands for a parameter, NULL: none. */
static const char *variable_of(const char *parameter)
{
    static const struct {
        const char *variable, *parameter;
    } list[] = {
#define HCCL_ENVIRONMENT(variable, parameter) {#variable, #parameter},
#include "base/environment.def"
#undef HCCL_ENVIRONMENT
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (0 == strcmp(list[i].parameter, parameter)) {
            return list[i].variable;
        }
    }
    return NULL;
}

/* The names by which a parameter stands in the environment; Open MPI looks for the longer one first. */
static const char *const prefixes[] = {"OMPI_MCA_ompi_coll_hccl_", "OMPI_MCA_coll_hccl_"};

/* What the environment says of a parameter under Open MPI's names for it; NULL: nothing. */
static const char *in_environment(const char *name)
{
    char key[128];
    const char *value = NULL;
    for (size_t i = 0; NULL == value && i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        snprintf(key, sizeof(key), "%s%s", prefixes[i], name);
        value = getenv(key);
    }
    return value;
}

/* The same under its name in environment.def. */
static const char *in_variable(const char *name)
{
    const char *variable = variable_of(name);
    return NULL == variable ? NULL : getenv(variable);
}

/* What a parameter can be. */
typedef struct param_form {
    mca_base_var_type_t type;
    size_t minimum, maximum;
} param_form_t;

/* Whether Open MPI would read this text as it is meant. */
static bool is_readable(const char *text, const param_form_t *form)
{
    switch (form->type) {
    case VAR_INT:
        return hccl_value_is_number(text, INT_MAX);
    case VAR_SIZE:
        return hccl_value_is_number(text, SIZE_MAX);
    case VAR_BOOL:
        return hccl_value_is_switch(text);
    default:
        return true;
    }
}

static void refuse(const char *name, const char *text, const param_form_t *form)
{
    if ('\0' != unreadable.name[0]) {
        return;
    }
    snprintf(unreadable.name, sizeof(unreadable.name), "%s", name);
    snprintf(unreadable.value, sizeof(unreadable.value), "%s", text);
    if (VAR_BOOL == form->type) {
        snprintf(unreadable.accepted, sizeof(unreadable.accepted), "true and false");
    } else {
        snprintf(unreadable.accepted, sizeof(unreadable.accepted),
                 "a number from %zu to %zu (k, m or g may follow)", form->minimum, form->maximum);
    }
}

static int register_now(const char *name, const char *text, const param_form_t *form, void *storage)
{
    return mca_base_component_var_register(&mca_coll_hccl_component.collm_version, name, text,
                                           form->type, NULL, 0, 0, OPAL_INFO_LVL_4,
                                           MCA_BASE_VAR_SCOPE_ALL_EQ, storage);
}

/* The same while the environment has this value under Open MPI's name, or, if it is NULL, none. */
static int register_with(const char *value, const char *name, const char *text,
                         const param_form_t *form, void *storage)
{
    char key[2][128];
    char *kept[2];
    for (int i = 0; i < 2; i++) {
        snprintf(key[i], sizeof(key[i]), "%s%s", prefixes[i], name);
        kept[i] = NULL == getenv(key[i]) ? NULL : strdup(getenv(key[i]));
        unsetenv(key[i]);
    }
    if (NULL != value) {
        (void) setenv(key[1], value, 1);
    }
    int rc = register_now(name, text, form, storage);
    unsetenv(key[1]);
    for (int i = 0; i < 2; i++) {
        if (NULL != kept[i]) {
            (void) setenv(key[i], kept[i], 1);
        }
        free(kept[i]);
    }
    return rc;
}

/* Open MPI reads the value when the parameter is registered. It does not see one that it would take for
 * another one, so that one message about it is all. */
static void register_one(const char *name, const char *text, const param_form_t *form,
                         void *storage)
{
    const char *own = in_environment(name);
    const char *given = NULL == own ? in_variable(name) : own;
    char *value = NULL == given ? NULL : strdup(given);
    bool readable = NULL == value || is_readable(value, form);
    int rc = given == own && readable
                 ? register_now(name, text, form, storage)
                 : register_with(readable ? value : NULL, name, text, form, storage);
    const char *in_file = hccl_compat_text_in_file(rc);
    if (!readable) {
        refuse(name, value, form);
    } else if (rc < 0 || (NULL != in_file && !is_readable(in_file, form))) {
        refuse(name, NULL == in_file ? "(from a file)" : in_file, form);
    }
    free(value);
}

int hccl_params_register(void)
{
    char name[64];
    char text[160];
    unreadable.name[0] = '\0';
#define HCCL_PARAM(name_, type, value, minimum, maximum, same, text_)                 \
    hccl_params.name_ = value;                                                        \
    register_one(#name_, text_,                                                       \
                 &(param_form_t){VAR_##type, (size_t) (minimum), (size_t) (maximum)}, \
                 &hccl_params.name_);
#include "base/params.def"
#undef HCCL_PARAM
    for (int i = 0; i < HCCL_COLL_COUNT; i++) {
        const char *coll = hccl_coll_info[i].name;
        hccl_params.offered[i] = true;
        hccl_params.algorithm[i] = (char *) (uintptr_t) "auto";
        snprintf(text, sizeof(text), "Serve MPI_%c%s, in all its forms", coll[0] - 'a' + 'A',
                 coll + 1);
        register_one(coll, text, &(param_form_t){.type = VAR_BOOL}, &hccl_params.offered[i]);
        snprintf(name, sizeof(name), "%s_algorithm", coll);
        snprintf(text, sizeof(text),
                 "Algorithm of MPI_%c%s wherever it fits, or auto; tools/hccl_plan lists them",
                 coll[0] - 'a' + 'A', coll + 1);
        register_one(name, text, &(param_form_t){.type = VAR_TEXT}, &hccl_params.algorithm[i]);
    }
    return OMPI_SUCCESS;
}

const char *hccl_params_text(const char *name, char *buf, size_t len)
{
    const char *value = hccl_compat_text_in_file(mca_base_var_find("ompi", "coll", "hccl", name));
    value = NULL == value ? in_environment(name) : value;
    value = NULL == value ? in_variable(name) : value;
    snprintf(buf, len, "%s", NULL == value ? "(not from a text)" : value);
    return buf;
}

/* What rank 0 does not know of, so that somebody else has to say it. */
static char untold[900];

int hccl_params_complain(const char *name, const char *value, const char *accepted)
{
    const char *variable = variable_of(name);
    char text[sizeof(untold)];
    snprintf(
        text, sizeof(text),
        "parameter coll_hccl_%s%s%s%s: \"%s\" is not accepted; accepted: %s. The component does "
        "not run with it",
        name, NULL == variable ? "" : " (", NULL == variable ? "" : variable,
        NULL == variable ? "" : ")", value, accepted);
    if (0 == OMPI_PROC_MY_NAME->vpid) {
        hccl_log_error("%s", text);
    } else {
        memcpy(untold, text, sizeof(untold));
    }
    return OMPI_ERR_BAD_PARAM;
}

void hccl_params_complain_late(void)
{
    if ('\0' != untold[0]) {
        hccl_log_error("%s", untold);
        untold[0] = '\0';
    }
}

int hccl_params_readable(void)
{
    return '\0' == unreadable.name[0]
               ? OMPI_SUCCESS
               : hccl_params_complain(unreadable.name, unreadable.value, unreadable.accepted);
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return NULL == text ? hash : mix(hash, text, strlen(text) + 1);
}

#define MIX_SAME_INT(name) mix(hash, &hccl_params.name, sizeof(hccl_params.name))
#define MIX_SAME_SIZE(name) mix(hash, &hccl_params.name, sizeof(hccl_params.name))
#define MIX_SAME_BOOL(name) mix(hash, &hccl_params.name, sizeof(hccl_params.name))
#define MIX_SAME_TEXT(name) mix_text(hash, hccl_params.name)
#define MIX_OWN_INT(name) hash
#define MIX_OWN_SIZE(name) hash
#define MIX_OWN_BOOL(name) hash
#define MIX_OWN_TEXT(name) hash

bool hccl_params_is_given(const char *name)
{
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    int index = mca_base_var_find("ompi", "coll", "hccl", name);
    return index >= 0 && OPAL_SUCCESS == mca_base_var_get_value(index, NULL, &source, NULL)
           && MCA_BASE_VAR_SOURCE_DEFAULT != source;
}

uint64_t hccl_params_hash(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
#define HCCL_PARAM(name, type, value, minimum, maximum, same, text) \
    hash = MIX_##same##_##type(name);
#include "base/params.def"
#undef HCCL_PARAM
    const hccl_links_t *links = hccl_params_links();
    if (NULL != links) {
        hash = mix(hash, &links->hash, sizeof(links->hash));
    }
    for (int i = 0; i < HCCL_COLL_COUNT; i++) {
        hash = mix(hash, &hccl_params.offered[i], sizeof(bool));
        hash = mix_text(hash, hccl_params.algorithm[i]);
    }
    return hash;
}
