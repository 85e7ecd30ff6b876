#include "backends/postgres/libpq.hpp"

#include <holdfast/error.hpp>

#include <dlfcn.h>

#include <string>

namespace holdfast::postgres_backend {

namespace {

constexpr const char* file = "libpq.so.5";

[[noreturn]] void refuse(const std::string& why) {
    throw error(make_error_code(errc::invalid_argument),
                "postgres: " + why + "; install libpq 14 or later (Debian: libpq5)");
}

void* function(void* library, const char* name) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) refuse(std::string{file} + " has no function " + name);
    return found;
}

libpq load() {
    void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const why = ::dlerror();
        refuse(why != nullptr ? why : std::string{file} + " cannot be opened");
    }
    libpq all;
#define HOLDFAST_LIBPQ_LOAD(name) all.name = reinterpret_cast<decltype(all.name)>(function(library, #name));
    HOLDFAST_LIBPQ(HOLDFAST_LIBPQ_LOAD)
#undef HOLDFAST_LIBPQ_LOAD
    return all;
}

}  // namespace

const libpq& pq() {
    static const libpq all = load();
    return all;
}

}  // namespace holdfast::postgres_backend
