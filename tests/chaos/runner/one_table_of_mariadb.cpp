// A MariaDB server behind a link.
#ifdef HOLDFAST_HAS_MARIADB

#include "chaos/runner/topology.hpp"

#include "support/mariadb_server.hpp"

#include <holdfast/holdfast.hpp>

#include <memory>
#include <optional>
#include <string>

namespace holdfast::chaos {

namespace {

class one_table_of_mariadb final : public topology {
  public:
    explicit one_table_of_mariadb(precautions care) : care_(care) {
        config how;
        how.url = at(server_.port());
        client first{how};
        (void)mutex{first, "first"}.acquire().release();
        forget_if_careless();
    }

    [[nodiscard]] std::string url() const override { return at(link_.port()); }
    [[nodiscard]] std::string direct_url() override { return at(server_.port()); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {}; }
    [[nodiscard]] std::vector<test::wire*> wires() override { return {&link_}; }
    [[nodiscard]] bool is_available(unsigned) const override { return available_; }

    void begin(const planned& p) override {
        switch (p.what) {
            case trouble::row_held: hold_a_row(p.amount); break;
            case trouble::database_stopped:
                available_ = false;
                server_.pause();
                break;
            case trouble::database_killed:
                available_ = false;
                server_.stop();
                break;
            case trouble::sessions_ended: server_.end_sessions(); break;
            default: break;
        }
    }
    void end(const planned& p) override {
        switch (p.what) {
            case trouble::row_held: foreign_.reset(); break;
            case trouble::database_stopped: server_.resume(); break;
            case trouble::database_killed:
                server_.start();
                forget_if_careless();
                break;
            default: break;
        }
        available_ = true;
    }

  private:
    static std::string at(std::uint16_t port) {
        return "mysql://holdfast@127.0.0.1:" + std::to_string(port) + "/locks?create=true";
    }
    // A killed server then forgets what it has confirmed in the last second, and this setting.
    void forget_if_careless() {
        if (care_ == precautions::left_out) server_.run("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    }
    void hold_a_row(std::uint64_t which) {
        const auto names = server_.run("SELECT HEX(name) FROM holdfast_lock ORDER BY name");
        foreign_.emplace(server_);
        foreign_->run("BEGIN; SELECT 1 FROM holdfast_lock WHERE name = x'" + names[which % names.size()][0] +
                      "' FOR UPDATE");
    }

    const precautions care_;
    // Each commit is on the disk before its answer.
    test::mariadb_server server_{{.sync = true}};
    test::wire link_{server_.port(), test::wire::memory::none};
    std::optional<test::mariadb_server::session> foreign_;
    bool available_ = true;
};

}  // namespace

std::unique_ptr<topology> make_one_table_of_mariadb(precautions care) {
    return std::make_unique<one_table_of_mariadb>(care);
}

std::span<const trouble> troubles_of_one_table_of_mariadb() {
    using enum trouble;
    static constexpr trouble all[] = {client_stops,   client_killed, wire_cut,         wire_stalls,
                                      wire_cut_soon,  row_held,      database_stopped, database_killed,
                                      sessions_ended, holder_evicted};
    return all;
}

}  // namespace holdfast::chaos

#endif
