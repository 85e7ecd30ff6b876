// Platinum: each owner has its own value, and checks before DEL that the key still has it.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct platinum final : scheme {
    using scheme::scheme;

    void lock() override {
        while (send("SET", key, owner, "NX", "PX", ttl).nil()) stop("before_retry");
    }

    void unlock() override {
        const bool mine = send("GET", key) == owner;
        stop("after_get");
        if (mine) send("DEL", key);
    }
};

}  // namespace

std::unique_ptr<scheme> make_platinum(performer& by) { return std::make_unique<platinum>(by); }

}  // namespace holdfast::lab
