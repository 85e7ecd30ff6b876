#include "backends/postgres/libpq.hpp"

#include <holdfast/error.hpp>

#include <dlfcn.h>

#include <string>

namespace holdfast::postgres_backend {

namespace {

constexpr const char* library_file = "libpq.so.5";

[[noreturn]] void no_library(const std::string& why) {
    throw error(make_error_code(errc::invalid_argument),
                "postgres: " + why + "; install libpq 14 or later (Debian: libpq5)");
}

void* function(void* library, const char* name) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) no_library(std::string{library_file} + " has no function " + name);
    return found;
}

libpq open_library() {
    void* const library = ::dlopen(library_file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): each thread has its own
        no_library(why != nullptr ? why : std::string{library_file} + " cannot be opened");
    }
    libpq all;
#define HOLDFAST_LIBPQ_LOAD(name) all.name = reinterpret_cast<decltype(all.name)>(function(library, #name));
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
