#include "base/misuse.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace holdfast::base {

namespace {

std::atomic<misuse_handler> handler{nullptr};

#if defined(NDEBUG)
constexpr bool fatal = false;
#else
constexpr bool fatal = true;
#endif

}  // namespace

void misuse(const char* what) noexcept {
    if (const auto instead = handler.load()) return instead(what);
    if (!fatal) return;
    std::fprintf(stderr, "holdfast: %s\n", what);
    std::abort();
}

misuse_handler on_misuse(misuse_handler instead) noexcept { return handler.exchange(instead); }

}  // namespace holdfast::base
