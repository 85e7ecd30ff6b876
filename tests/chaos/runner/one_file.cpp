// No server: the clients share an SQLite file.
#include "chaos/runner/topology.hpp"

#include "support/eventually.hpp"

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace holdfast::chaos {

namespace {

// Another process that has begun to write and does not go on, as if it were stopped in the middle. Does
// nothing if a client was stopped in the middle of a write: then the file stands still already.
class open_write {
  public:
    explicit open_write(const std::string& path) {
        sqlite3* opened = nullptr;
        int code = ::sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
        file_.reset(opened);
        constexpr int long_enough_ms = 500;
        ::sqlite3_busy_timeout(opened, long_enough_ms);
        if (code == SQLITE_OK) code = ::sqlite3_exec(opened, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
        if (code != SQLITE_OK && code != SQLITE_BUSY)
            throw std::runtime_error{std::string{"the file of the locks cannot be locked: "} +
                                     ::sqlite3_errmsg(opened)};
    }

  private:
    struct close {
        void operator()(sqlite3* f) const { ::sqlite3_close_v2(f); }  // rolls back
    };
    std::unique_ptr<sqlite3, close> file_;
};

class one_file final : public topology {
  public:
    [[nodiscard]] std::string url() const override { return "sqlite:" + path_; }
    [[nodiscard]] std::string direct_url() override { return url(); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {}; }

    void begin(const planned&) override { writer_.emplace(path_); }
    void end(const planned&) override { writer_.reset(); }

  private:
    const test::temp_dir folder_;
    const std::string path_ = (folder_.path() / "locks.db").string();
    std::optional<open_write> writer_;
};

}  // namespace

std::unique_ptr<topology> make_one_file(precautions) { return std::make_unique<one_file>(); }

std::span<const trouble> troubles_of_one_file() {
    using enum trouble;
    static constexpr trouble all[] = {client_stops, client_killed, write_held, holder_evicted};
    return all;
}

}  // namespace holdfast::chaos
