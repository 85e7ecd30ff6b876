// A PostgreSQL server behind a link.
#ifdef HOLDFAST_HAS_POSTGRES

#include "chaos/runner/topology.hpp"

#include "support/postgres_server.hpp"

#include <holdfast/holdfast.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace holdfast::chaos {

namespace {

class one_table final : public topology {
  public:
    explicit one_table(precautions care) {
        config how;
        how.url = at(server_.port());
        client first{how};
        (void)mutex{first, "first"}.acquire().release();
        // A crash of the server then empties the table.
        if (care == precautions::left_out) server_.run("ALTER TABLE holdfast_lock SET UNLOGGED");
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
            case trouble::session_crashed: crash_a_session(); break;
            case trouble::sessions_ended:
                server_.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name LIKE 'holdfast:%'");
                break;
            default: break;
        }
    }
    void end(const planned& p) override {
        switch (p.what) {
            case trouble::row_held: foreign_.reset(); break;
            case trouble::database_stopped: server_.resume(); break;
            case trouble::database_killed: server_.start(); break;
            case trouble::session_crashed: server_.wait_until_up(); break;
            default: break;
        }
        available_ = true;
    }

  private:
    static std::string at(std::uint16_t port) {
        return "postgres://holdfast@127.0.0.1:" + std::to_string(port) + "/postgres?create=true";
    }
    void hold_a_row(std::uint64_t which) {
        foreign_.emplace(server_, "postgres");
        foreign_->run("BEGIN");
        foreign_->run(
            "SELECT 1 FROM holdfast_lock WHERE name = (SELECT name FROM holdfast_lock ORDER BY name"
            " OFFSET " +
            std::to_string(which) +
            " % (SELECT count(*) FROM holdfast_lock) LIMIT 1)"
            " FOR UPDATE");
    }
    void crash_a_session() try {
        server_.crash_a_session();
    } catch (const std::runtime_error&) {  // there is none now
    }

    // Each commit is on the disk before its answer.
    test::postgres_server server_{{.sync = true}};
    test::wire link_{server_.port(), test::wire::memory::none};
    std::optional<test::postgres_server::session> foreign_;
    bool available_ = true;
};

}  // namespace

std::unique_ptr<topology> make_one_table(precautions care) { return std::make_unique<one_table>(care); }

std::span<const trouble> troubles_of_one_table() {
    using enum trouble;
    static constexpr trouble all[] = {client_stops,    client_killed,  wire_cut,         wire_stalls,
                                      wire_cut_soon,   row_held,       database_stopped, database_killed,
                                      session_crashed, sessions_ended, holder_evicted};
    return all;
}

}  // namespace holdfast::chaos

#endif
