// PostgreSQL's own client library, opened by the first URL that needs it: programs that use other stores do
// not need to have it.
#pragma once

#include <libpq-fe.h>

namespace holdfast::postgres_backend {

#define HOLDFAST_LIBPQ(F)        \
    F(PQbackendPID)              \
    F(PQclear)                   \
    F(PQconnectPoll)             \
    F(PQconnectStartParams)      \
    F(PQconnectionNeedsPassword) \
    F(PQconninfoFree)            \
    F(PQconninfoParse)           \
    F(PQconsumeInput)            \
    F(PQenterPipelineMode)       \
    F(PQerrorMessage)            \
    F(PQfformat)                 \
    F(PQfinish)                  \
    F(PQflush)                   \
    F(PQfreemem)                 \
    F(PQftype)                   \
    F(PQgetResult)               \
    F(PQgetisnull)               \
    F(PQgetlength)               \
    F(PQgetvalue)                \
    F(PQhost)                    \
    F(PQisBusy)                  \
    F(PQnfields)                 \
    F(PQnotifies)                \
    F(PQntuples)                 \
    F(PQpipelineSync)            \
    F(PQport)                    \
    F(PQresultErrorField)        \
    F(PQresultErrorMessage)      \
    F(PQresultStatus)            \
    F(PQsendPrepare)             \
    F(PQsendQuery)               \
    F(PQsendQueryParams)         \
    F(PQsendQueryPrepared)       \
    F(PQsetErrorVerbosity)       \
    F(PQsetNoticeProcessor)      \
    F(PQsetNoticeReceiver)       \
    F(PQsetnonblocking)          \
    F(PQsocket)                  \
    F(PQsslInUse)                \
    F(PQstatus)

// Its functions, by their own names.
struct libpq {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it is the name of a member
#define HOLDFAST_LIBPQ_MEMBER(name) decltype(&::name) name = nullptr;
    HOLDFAST_LIBPQ(HOLDFAST_LIBPQ_MEMBER)
#undef HOLDFAST_LIBPQ_MEMBER
};

// Throws holdfast::error (errc::invalid_argument) if the library is not there, or is older than version 14,
// which began to send statements without waiting. It stays open.
[[nodiscard]] const libpq& pq();

}  // namespace holdfast::postgres_backend
