#include "base/client_library.hpp"

#include <holdfast/error.hpp>

#include <dlfcn.h>

namespace holdfast::base {

client_library::client_library(const char* file, const char* what, const char* advice)
    : file_(file), for_(what), advice_(advice), library_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ != nullptr) return;
    const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): each thread has its own
    refuse(why != nullptr ? why : std::string{file_} + " cannot be opened");
}

void* client_library::function(const char* name) const {
    void* const found = ::dlsym(library_, name);
    if (found == nullptr) refuse(std::string{file_} + " has no function " + name);
    return found;
}

void client_library::refuse(const std::string& why) const {
    throw error(make_error_code(errc::invalid_argument),
                std::string{for_}.append(": ").append(why).append("; ").append(advice_));
}

}  // namespace holdfast::base
