// Diamond: a script compares and deletes, and the server runs nothing else meanwhile.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct diamond final : scheme {
    using scheme::scheme;

    static constexpr auto compare_and_delete = R"(
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
else
    return 0
end)";

    void lock() override {
        while (send("SET", key, owner, "NX", "PX", ttl).nil()) stop("before_retry");
    }

    void unlock() override { send("EVAL", compare_and_delete, 1, key, owner); }
};

}  // namespace

std::unique_ptr<scheme> make_diamond(performer& by) { return std::make_unique<diamond>(by); }

}  // namespace holdfast::lab
