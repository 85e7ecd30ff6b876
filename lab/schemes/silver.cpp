// Silver: a second command sets the key's time to live, so that a crash does not leave it for ever.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct silver final : scheme {
    using scheme::scheme;

    void lock() override {
        while (send("SETNX", key, "123") == 0) stop("before_retry");
        stop("before_expire");
        send("PEXPIRE", key, ttl);
    }

    void unlock() override { send("DEL", key); }
};

}  // namespace

std::unique_ptr<scheme> make_silver(performer& by) { return std::make_unique<silver>(by); }

}  // namespace holdfast::lab
