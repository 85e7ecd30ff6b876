#include "backends/registry.hpp"

#include "backends/local/store.hpp"
#include "backends/redis/store.hpp"
#include "backends/redlock/store.hpp"
#include "base/text.hpp"

#include <array>
#include <string_view>

namespace holdfast::backends {

namespace {

struct row {
    std::string_view scheme;
    std::unique_ptr<backend::store> (*open)(const services&);
};
// Its members are single servers; quorum/url.hpp says which.
std::unique_ptr<backend::store> open_quorum(const services& given) {
    return redlock_backend::open(given, &backends::open);
}
constexpr std::array rows{
    row{"redis", redis_backend::open},
    row{"rediss", redis_backend::open},
    row{"unix", redis_backend::open},
    row{"redis+sentinel", redis_backend::open},
    row{"rediss+sentinel", redis_backend::open},
    row{"redis+cluster", redis_backend::open},
    row{"rediss+cluster", redis_backend::open},
    row{"local", local_backend::open},
    row{"redlock", open_quorum},
};

}  // namespace

std::unique_ptr<backend::store> open(const services& given) {
    const std::string_view url = given.settings.url;
    const auto scheme = url.substr(0, url.find(':'));
    for (const auto& r : rows) {
        if (url.size() > scheme.size() && r.scheme == scheme) return r.open(given);
    }
    // The URL itself may hold a password, so only its scheme is repeated.
    throw error(errc::invalid_argument,
                url.size() == scheme.size()
                    ? "a store's URL begins with redis://, rediss://, redis+sentinel://, rediss+sentinel://, "
                      "redis+cluster://, rediss+cluster://, unix://, local: or redlock:"
                    : "no store is called \"" + base::printable(scheme.substr(0, 32)) +
                          ":\"; there are redis://, rediss://, redis+sentinel://, rediss+sentinel://, "
                          "redis+cluster://, rediss+cluster://, unix://, local: and redlock:");
}

}  // namespace holdfast::backends
