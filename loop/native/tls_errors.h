/* The errors that the program has left in the queue of OpenSSL's errors. Each thread has
 * one queue, so uvzk and the program share it. OpenSSL attributes an error in the queue
 * to the latest call, and several of its calls empty the queue first. uvzk therefore
 * removes the program's errors before it calls OpenSSL, and puts them back afterwards. */
#ifndef UVZK_TLS_ERRORS_H
#define UVZK_TLS_ERRORS_H

#include <stddef.h>

struct uvzk__tls_error;

struct uvzk__tls_errors {
    struct uvzk__tls_error *array; /* owned; NULL: there were none */
    size_t count;
};

/* Before calls of OpenSSL: the queue is empty afterwards. */
void uvzk__tls_errors_take(struct uvzk__tls_errors *errors);
/* After calls of OpenSSL: removes the errors that they have left, and puts back the
 * program's errors. Out of memory: the program's errors are lost. */
void uvzk__tls_errors_put_back(struct uvzk__tls_errors *errors);

#endif
