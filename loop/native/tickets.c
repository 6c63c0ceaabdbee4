/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets by MIT's Kerberos (tickets.h): acquires and renews them, and uses them for the
 * steps of an exchange. gssapi.c calls it on its thread.
 *
 * Credentials are acquired with gss_acquire_cred_from for each exchange. If there is a keytab,
 * the tickets are in a cache in memory, which MIT's library fills when it is empty, and again
 * when half of the ticket's life is over. */
#include "native/tickets.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>

#include "base/memory.h"
#include "platform/entropy.h"
#include "uvzk.h"

/* Of the security layers that a server offers, RFC 4752 3.3. */
#define NO_LAYER 1U

int uvzk__tickets_init(struct uvzk__tickets *tickets, const char *list)
{
    uint64_t random = 0;
    int status = uvzk__sasl_options_read(&tickets->options, list);

    if (status == 0 && tickets->options.keytab != NULL &&
        tickets->options.ccache == NULL) {
        (void)uvzk__entropy(&random, sizeof(random));
        snprintf(tickets->cache, sizeof(tickets->cache), "MEMORY:uvzk-%p-%016" PRIx64,
                 (void *)tickets, random);
    }
    return status;
}

/* The caches in memory are those of the process, so they do not end with their handles. */
static void destroy_cache(const char *name)
{
    krb5_context context;
    krb5_ccache cache;

    if (krb5_init_context(&context) != 0) {
        return;
    }
    if (krb5_cc_resolve(context, name, &cache) == 0) {
        (void)krb5_cc_destroy(context, cache);
    }
    krb5_free_context(context);
}

void uvzk__tickets_end(struct uvzk__tickets *tickets)
{
    if (tickets->cache[0] != '\0') {
        destroy_cache(tickets->cache);
    }
    for (size_t i = 0; i < tickets->service_count; i++) {
        uvzk__free(tickets->services[i]);
    }
    uvzk__sasl_options_free(&tickets->options);
}

bool uvzk__tickets_are_renewable(const struct uvzk__tickets *tickets)
{
    return tickets->options.keytab != NULL;
}

/* ------------------------------------------------------------------------- what is wrong */

static const struct {
    krb5_error_code minor;
    const char *text;
} reasons[] = {
    {KRB5_KDC_UNREACH, "cannot be had: no KDC answers"},
    {KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, "the KDC does not know"},
    {KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, "cannot be had: the KDC does not know this client"},
    {KRB5KDC_ERR_PREAUTH_FAILED,
     "cannot be had: the key of the keytab is wrong, or an old one"},
    {KRB5KRB_AP_ERR_BAD_INTEGRITY,
     "cannot be had: the key of the keytab is wrong, or an old one"},
    {KRB5KRB_AP_ERR_SKEW,
     "cannot be had: the clocks of the KDC and of this machine differ"},
    {KRB5_KDCREP_SKEW, "cannot be had: the clocks of the KDC and of this machine differ"},
    {KRB5KDC_ERR_WRONG_REALM, "cannot be had: the KDC is of another realm"},
    {KRB5_REALM_UNKNOWN, "cannot be had: no KDC is known for this realm"},
    {KRB5_FCC_NOFILE, "cannot be had: there is no cache of tickets (kinit)"},
    {KRB5_CC_NOTFOUND, "cannot be had: the cache has no ticket (kinit)"},
    {KRB5KRB_AP_ERR_TKT_EXPIRED,
     "cannot be had: the tickets of the cache have expired (kinit)"},
};

/* MIT's library says only that its cache is empty. Returns what is wrong with the keytab. */
static const char *find_keytab_fault(const struct uvzk__sasl_options *options)
{
    krb5_context context;
    krb5_keytab keytab = NULL;
    krb5_principal principal = NULL;
    krb5_keytab_entry entry;
    bool readable = false, has_key = false;

    if (krb5_init_context(&context) != 0) {
        return NULL;
    }
    if (krb5_kt_resolve(context, options->keytab, &keytab) == 0) {
        readable = krb5_kt_have_content(context, keytab) == 0;
    }
    if (readable && options->principal != NULL &&
        krb5_parse_name(context, options->principal, &principal) == 0 &&
        krb5_kt_get_entry(context, keytab, principal, 0, 0, &entry) == 0) {
        has_key = true;
        (void)krb5_free_keytab_entry_contents(context, &entry);
    }
    krb5_free_principal(context, principal);
    if (keytab != NULL) {
        (void)krb5_kt_close(context, keytab);
    }
    krb5_free_context(context);
    return !readable ? "cannot be had: the keytab cannot be read, or is empty"
           : options->principal != NULL && !has_key
               ? "cannot be had: the keytab has no key of this client"
               : NULL;
}

static const char *reason_of(const struct uvzk__sasl_options *options, OM_uint32 major,
                             krb5_error_code minor)
{
    const char *fault =
        options->keytab != NULL && (minor == KRB5_FCC_NOFILE || minor == KRB5_CC_NOTFOUND)
            ? find_keytab_fault(options)
            : NULL;

    if (fault != NULL) {
        return fault;
    }
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].minor == minor) {
            return reasons[i].text;
        }
    }
    return GSS_ROUTINE_ERROR(major) == GSS_S_CREDENTIALS_EXPIRED
               ? "cannot be had: the tickets of the cache have expired (kinit)"
               : "cannot be had";
}

/* What the library itself says. */
static void describe_minor(OM_uint32 minor, char *text, size_t size)
{
    OM_uint32 ignored, more = 0;
    gss_buffer_desc message = GSS_C_EMPTY_BUFFER;

    text[0] = '\0';
    if (gss_display_status(&ignored, minor, GSS_C_MECH_CODE, gss_mech_krb5, &more,
                           &message) == GSS_S_COMPLETE) {
        snprintf(text, size, "%.*s", (int)message.length, (const char *)message.value);
        (void)gss_release_buffer(&ignored, &message);
    }
}

/* Returns false if the address has no name. */
static bool find_canonical(const struct uvzk__address *address, char *host, size_t size)
{
    return getnameinfo(&address->socket.any, address->length, host, (socklen_t)size, NULL,
                       0, NI_NAMEREQD) == 0;
}

/* The name that canonical=yes would ask for, if that is another one. */
static void add_canonical(const struct uvzk__tickets *tickets,
                          const struct uvzk__ticket_use *use, char *text, size_t size)
{
    char host[UVZK__HOST_MAX + 1];
    size_t length = strlen(text);

    if (tickets->options.host == NULL && !tickets->options.canonical &&
        use->host[0] != '\0' && find_canonical(&use->address, host, sizeof(host)) &&
        strcmp(host, use->host) != 0) {
        snprintf(text + length, size - length, "; canonical=yes would ask for %s/%.255s",
                 tickets->options.service, host);
    }
}

static void fail_ticket(const struct uvzk__tickets *tickets,
                        const struct uvzk__ticket_use *use, OM_uint32 major,
                        OM_uint32 minor, struct uvzk__gssapi_result *result)
{
    char library[200];
    krb5_error_code code = (krb5_error_code)minor;

    describe_minor(minor, library, sizeof(library));
    result->outcome = UVZK__GSSAPI_FAILED;
    result->code = code == KRB5_KDC_UNREACH ? UV_EHOSTUNREACH : UVZK_EAUTH;
    snprintf(result->text, sizeof(result->text),
             "needs a ticket for %.200s, which %s (%s)", use->service,
             reason_of(&tickets->options, major, code), library);
    if (code == KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN) {
        add_canonical(tickets, use, result->text, sizeof(result->text));
    }
}

static void fail_with(struct uvzk__gssapi_result *result, const char *text)
{
    result->outcome = UVZK__GSSAPI_FAILED;
    result->code = UVZK_EAUTH;
    snprintf(result->text, sizeof(result->text), "%s", text);
}

/* ----------------------------------------------------------------- the client's ticket */

/* Stores a principal's name. */
static OM_uint32 import_principal(OM_uint32 *minor, const char *principal,
                                  gss_name_t *name)
{
    gss_buffer_desc buffer = {strlen(principal), (void *)(uintptr_t)principal};

    return gss_import_name(minor, &buffer, GSS_KRB5_NT_PRINCIPAL_NAME, name);
}

static OM_uint32 acquire_credentials(struct uvzk__tickets *tickets, OM_uint32 *minor,
                                     gss_cred_id_t *credentials)
{
    const struct uvzk__sasl_options *options = &tickets->options;
    const char *cache = options->ccache != NULL ? options->ccache : tickets->cache;
    gss_key_value_element_desc elements[2];
    gss_key_value_set_desc store = {.elements = elements};
    gss_OID_set_desc mechanisms = {1, (gss_OID)(uintptr_t)gss_mech_krb5};
    gss_name_t name = GSS_C_NO_NAME;
    OM_uint32 major = GSS_S_COMPLETE, ignored;

    if (options->keytab != NULL) {
        elements[store.count++] =
            (gss_key_value_element_desc){"client_keytab", options->keytab};
    }
    if (cache[0] != '\0') {
        elements[store.count++] = (gss_key_value_element_desc){"ccache", cache};
    }
    if (options->principal != NULL) {
        major = import_principal(minor, options->principal, &name);
    }
    if (major == GSS_S_COMPLETE) {
        major = gss_acquire_cred_from(minor, name, GSS_C_INDEFINITE, &mechanisms,
                                      GSS_C_INITIATE, &store, credentials, NULL,
                                      &tickets->lifetime_s);
    }
    (void)gss_release_name(&ignored, &name);
    return major;
}

/* ---------------------------------------------------------------- the server's principal */

/* Stores "@REALM" of the credentials; "": they do not say. */
static void find_realm(gss_cred_id_t credentials, char *realm, size_t size)
{
    OM_uint32 minor;
    gss_name_t name = GSS_C_NO_NAME;
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;

    realm[0] = '\0';
    if (gss_inquire_cred(&minor, credentials, &name, NULL, NULL, NULL) ==
            GSS_S_COMPLETE &&
        gss_display_name(&minor, name, &text, NULL) == GSS_S_COMPLETE) {
        const char *at = memrchr(text.value, '@', text.length);
        size_t length =
            at == NULL ? 0 : text.length - (size_t)(at - (const char *)text.value);
        snprintf(realm, size, "%.*s", (int)length, at == NULL ? "" : at);
    }
    (void)gss_release_buffer(&minor, &text);
    (void)gss_release_name(&minor, &name);
}

/* An address of the connect string is no host's name in a principal. Credentials that have
 * ended are not asked for their realm: MIT's library loses the name then. */
static void name_service(const struct uvzk__tickets *tickets,
                         struct uvzk__ticket_use *use)
{
    const struct uvzk__sasl_options *options = &tickets->options;
    char canonical[UVZK__HOST_MAX + 1], address[UVZK__ADDRESS_TEXT], realm[256] = "";
    const char *host = options->host != NULL ? options->host : use->host;

    if (options->host == NULL && (options->canonical || use->host[0] == '\0') &&
        find_canonical(&use->address, canonical, sizeof(canonical))) {
        host = canonical;
    }
    if (host[0] == '\0') {
        uvzk__address_text(&use->address, address);
        host = address;
    }
    if (options->realm != NULL) {
        snprintf(realm, sizeof(realm), "@%s", options->realm);
    } else if (use->credentials != GSS_C_NO_CREDENTIAL && tickets->lifetime_s > 0) {
        find_realm(use->credentials, realm, sizeof(realm));
    }
    snprintf(use->service, sizeof(use->service), "%.200s/%.255s%s", options->service,
             host, realm);
}

static void remember_service(struct uvzk__tickets *tickets, const char *service)
{
    for (size_t i = 0; i < tickets->service_count; i++) {
        if (strcmp(tickets->services[i], service) == 0) {
            return;
        }
    }
    if (tickets->service_count < UVZK__SERVICES_MAX) {
        tickets->services[tickets->service_count] = uvzk__strdup(service);
        tickets->service_count += tickets->services[tickets->service_count] != NULL;
    }
}

/* ------------------------------------------------------------------------- the exchange */

/* The server has to prove who it is, too. */
static OM_uint32 init_context(struct uvzk__ticket_use *use, OM_uint32 *minor,
                              gss_buffer_t challenge)
{
    gss_name_t name = GSS_C_NO_NAME;
    OM_uint32 ignored, major = import_principal(minor, use->service, &name);

    if (major == GSS_S_COMPLETE) {
        major = gss_init_sec_context(
            minor, use->credentials, &use->context, name,
            (gss_OID)(uintptr_t)gss_mech_krb5,
            GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG | GSS_C_SEQUENCE_FLAG, 0,
            GSS_C_NO_CHANNEL_BINDINGS, challenge, NULL, &use->token, NULL, NULL);
    }
    (void)gss_release_name(&ignored, &name);
    return major;
}

static void establish_context(struct uvzk__tickets *tickets, struct uvzk__ticket_use *use,
                              gss_buffer_t challenge, struct uvzk__gssapi_result *result)
{
    OM_uint32 minor = 0, major = GSS_S_COMPLETE;

    if (!use->begun) {
        major = acquire_credentials(tickets, &minor, &use->credentials);
        name_service(tickets, use);
    } else if (challenge->length == 0) {
        fail_with(result,
                  "offers no SASL, or not GSSAPI; or it refused the ticket, and would "
                  "serve without (zookeeper.allowSaslFailedClients)");
        return;
    }
    if (major == GSS_S_COMPLETE) {
        major = init_context(use, &minor, use->begun ? challenge : GSS_C_NO_BUFFER);
    }
    if (GSS_ERROR(major)) {
        fail_ticket(tickets, use, major, minor, result);
        return;
    }
    use->begun = true;
    use->established = major == GSS_S_COMPLETE;
    if (use->established) {
        remember_service(tickets, use->service);
    }
}

/* Agrees that nothing is encrypted: RFC 4752 3.1. */
static void negotiate_layer(struct uvzk__ticket_use *use, gss_buffer_t challenge,
                            struct uvzk__gssapi_result *result)
{
    unsigned char answer[4] = {NO_LAYER, 0, 0, 0};
    gss_buffer_desc offer = GSS_C_EMPTY_BUFFER, wanted = {sizeof(answer), answer};
    OM_uint32 minor, major;

    major = gss_unwrap(&minor, use->context, challenge, &offer, NULL, NULL);
    bool offered = major == GSS_S_COMPLETE && offer.length == 4 &&
                   (((const unsigned char *)offer.value)[0] & NO_LAYER) != 0;
    (void)gss_release_buffer(&minor, &offer);
    if (!offered) {
        fail_with(result, "does not offer GSSAPI without encryption");
        return;
    }
    major =
        gss_wrap(&minor, use->context, 0, GSS_C_QOP_DEFAULT, &wanted, NULL, &use->token);
    if (GSS_ERROR(major)) {
        fail_with(result, "gets no answer: the context of GSSAPI has expired");
    }
    use->negotiated = true;
}

void uvzk__ticket_use_step(struct uvzk__tickets *tickets, struct uvzk__ticket_use *use,
                           gss_buffer_t challenge, struct uvzk__gssapi_result *result)
{
    OM_uint32 minor;

    (void)gss_release_buffer(&minor, &use->token);
    *result = (struct uvzk__gssapi_result){.outcome = UVZK__GSSAPI_SEND};
    if (use->negotiated) {
        result->outcome = UVZK__GSSAPI_ACCEPTED;
    } else if (use->established) {
        negotiate_layer(use, challenge, result);
    } else {
        establish_context(tickets, use, challenge, result);
    }
    result->token = uvzk__jute_bytes(use->token.value, use->token.length);
}

void uvzk__ticket_use_end(struct uvzk__ticket_use *use)
{
    OM_uint32 minor;

    (void)gss_release_buffer(&minor, &use->token);
    (void)gss_delete_sec_context(&minor, &use->context, GSS_C_NO_BUFFER);
    (void)gss_release_cred(&minor, &use->credentials);
}

/* -------------------------------------------------------------------------- renewal */

/* A renewed ticket empties the cache, so the services' tickets are fetched again. One that
 * is there already costs no request. */
void uvzk__tickets_renew(struct uvzk__tickets *tickets)
{
    gss_cred_id_t credentials = GSS_C_NO_CREDENTIAL;
    OM_uint32 minor, major = acquire_credentials(tickets, &minor, &credentials);

    for (size_t i = 0; i < tickets->service_count && major == GSS_S_COMPLETE; i++) {
        struct uvzk__ticket_use use = {.credentials = credentials};
        OM_uint32 ignored;
        snprintf(use.service, sizeof(use.service), "%s", tickets->services[i]);
        (void)init_context(&use, &ignored, GSS_C_NO_BUFFER);
        use.credentials = GSS_C_NO_CREDENTIAL;
        uvzk__ticket_use_end(&use);
    }
    (void)gss_release_cred(&minor, &credentials);
}
