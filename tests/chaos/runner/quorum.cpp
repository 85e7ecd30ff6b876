// Five servers that know nothing of each other, each behind a link: a redlock.
#include "chaos/runner/topology.hpp"

#include <array>

namespace holdfast::chaos {

namespace {

class quorum final : public topology {
  public:
    explicit quorum(precautions p)
        // Twice the lease of these settings, and a little. A client that trusts restarted servers sees two
        // majorities sooner or later.
        : options_(p == precautions::taken ? "longest_lease=1500ms" : "restarts=trusted") {}

    [[nodiscard]] std::string url() const override {
        std::string all = "redlock:node_timeout=150ms," + options_;
        for (const auto& l : links_) all += "," + l->url();
        return all;
    }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return servers(); }
    [[nodiscard]] std::vector<test::fault_proxy*> links() override {
        std::vector<test::fault_proxy*> all;
        for (const auto& l : links_) all.push_back(l.get());
        return all;
    }
    [[nodiscard]] std::vector<test::redis_server*> servers() override {
        std::vector<test::redis_server*> all;
        for (auto& s : servers_) all.push_back(&s);
        return all;
    }

  private:
    std::string options_;
    std::array<test::redis_server, 5> servers_;
    std::vector<std::unique_ptr<test::fault_proxy>> links_ = [this] {
        std::vector<std::unique_ptr<test::fault_proxy>> all;
        for (const auto& s : servers_)
            all.push_back(std::make_unique<test::fault_proxy>(s, test::fault_proxy::memory::none));
        return all;
    }();
};

}  // namespace

std::unique_ptr<topology> make_quorum(precautions p) { return std::make_unique<quorum>(p); }

std::span<const trouble> troubles_of_quorum() {
    using enum trouble;
    static constexpr trouble all[] = {client_stops,     client_killed,  link_cut,       link_stalls,
                                      link_slow,        link_refuses,   reply_lost,     command_lost,
                                      server_stops,     server_emptied, clients_paused, scripts_flushed,
                                      connections_shut, memory_full};
    return all;
}

}  // namespace holdfast::chaos
