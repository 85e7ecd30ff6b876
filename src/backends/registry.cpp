#include "backends/registry.hpp"

#include "backends/file/store.hpp"
#include "backends/joint/pin.hpp"
#include "backends/joint/store.hpp"
#include "backends/local/store.hpp"
#ifdef HOLDFAST_HAS_MARIADB
#include "backends/mariadb/schema.hpp"
#include "backends/mariadb/store.hpp"
#endif
#ifdef HOLDFAST_HAS_POSTGRES
#include "backends/postgres/schema.hpp"
#include "backends/postgres/store.hpp"
#endif
#include "backends/redis/store.hpp"
#include "backends/redlock/store.hpp"
#ifdef HOLDFAST_HAS_SQLITE
#include "backends/sqlite/store.hpp"
#endif
#include "backends/zookeeper/store.hpp"
#include "base/annotations.hpp"
#include "base/text.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::backends {

namespace {

struct row {
    std::string_view scheme;
    opener open;
    std::string_view begins;  // how its URLs begin, for people; empty: the scheme and a colon
};

// Its members are single servers: see redlock/url.hpp.
std::unique_ptr<backend::store> open_redlock(const services& given) {
    return redlock_backend::open(given, &backends::open);
}

std::unique_ptr<backend::store> open_joint(const services& given) {
    return joint_backend::open(given, &backends::open);
}

struct registry {
    base::mutex mutex;
    std::vector<row> rows GUARDED_BY(mutex){
        {"redis", redis_backend::open, "redis://"},
        {"rediss", redis_backend::open, "rediss://"},
        {"redis+sentinel", redis_backend::open, "redis+sentinel://"},
        {"rediss+sentinel", redis_backend::open, "rediss+sentinel://"},
        {"redis+cluster", redis_backend::open, "redis+cluster://"},
        {"rediss+cluster", redis_backend::open, "rediss+cluster://"},
        {"unix", redis_backend::open, "unix://"},
        {"redlock", open_redlock, {}},
        {"joint", open_joint, {}},
#ifdef HOLDFAST_HAS_SQLITE
        {"sqlite", sqlite_backend::open, {}},
#endif
        {"file", file_backend::open, {}},
#ifdef HOLDFAST_HAS_POSTGRES
        {"postgres", postgres_backend::open, "postgres://"},
        {"postgresql", postgres_backend::open, "postgresql://"},
#endif
#ifdef HOLDFAST_HAS_MARIADB
        {"mysql", mariadb_backend::open, "mysql://"},
        {"mariadb", mariadb_backend::open, "mariadb://"},
#endif
        {"zk", zookeeper_backend::open, "zk://"},
        {"zks", zookeeper_backend::open, "zks://"},
        {"local", local_backend::open, {}},
    };
};

registry& all() {
    static registry& one = *new registry;  // also for clients that static destructors open
    return one;
}

// "redis://, unix:// and local:"
std::string in_words(const std::vector<row>& rows) {
    std::string text;
    for (const auto& r : rows) {
        if (!text.empty()) text += &r == &rows.back() ? " and " : ", ";
        text += r.begins.empty() ? std::string{r.scheme} + ':' : std::string{r.begins};
    }
    return text;
}

}  // namespace

void add(std::string_view scheme, opener open) {
    base::guard lock(all().mutex);
    all().rows.push_back({scheme, open, {}});
}

namespace {

opener opener_for(std::string_view url) {
    const auto colon = url.find(':');
    const auto scheme = url.substr(0, colon);
    opener found = nullptr;
    std::string there_are;
    {
        base::guard lock(all().mutex);
        for (const auto& r : all().rows) {
            if (colon != std::string_view::npos && r.scheme == scheme) found = r.open;
        }
        if (found == nullptr) there_are = in_words(all().rows);
    }
    if (found != nullptr) return found;
    // The URL itself may hold a password, so only its scheme is repeated.
    throw error(errc::invalid_argument, colon == std::string_view::npos
                                            ? "a store's URL begins with one of " + there_are
                                            : "no store is called \"" +
                                                  base::printable(scheme.substr(0, 32)) + ":\"; there are " +
                                                  there_are);
}

}  // namespace

std::unique_ptr<backend::store> open(const services& given) { return opener_for(given.settings.url)(given); }

std::string schema_for(std::string_view url) {
    [[maybe_unused]] const auto found = opener_for(url);
#ifdef HOLDFAST_HAS_POSTGRES
    if (found == postgres_backend::open) return postgres_backend::schema_for(url);
#endif
#ifdef HOLDFAST_HAS_MARIADB
    if (found == mariadb_backend::open) return mariadb_backend::schema_for(url);
#endif
    return {};
}

admin::pin_plan plan_pin(const config& settings, std::size_t level) {
    if (opener_for(settings.url) != open_joint)
        throw error(errc::invalid_argument, "only a joint: URL has levels, one of which can be pinned");
    return joint_backend::plan_pin(settings, level);
}

}  // namespace holdfast::backends
