#include "backends/postgres/libpq.hpp"

#include "base/client_library.hpp"

namespace holdfast::postgres_backend {

namespace {

libpq open_library() {
    const base::client_library file{"libpq.so.5", "postgres", "install libpq 14 or later (Debian: libpq5)"};
    libpq all;
#define HOLDFAST_LIBPQ_LOAD(name) all.name = reinterpret_cast<decltype(all.name)>(file.function(#name));
    HOLDFAST_LIBPQ(HOLDFAST_LIBPQ_LOAD)
#undef HOLDFAST_LIBPQ_LOAD
    return all;
}

}  // namespace

const libpq& pq() {
    static const libpq all = open_library();
    return all;
}

}  // namespace holdfast::postgres_backend
