// One server behind one link.
#include "chaos/runner/topology.hpp"

namespace holdfast::chaos {

namespace {

class single final : public topology {
  public:
    [[nodiscard]] std::string url() const override { return link_.url(); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {&server_}; }
    [[nodiscard]] std::vector<test::fault_proxy*> links() override { return {&link_}; }
    [[nodiscard]] std::vector<test::redis_server*> servers() override { return {&server_}; }

  private:
    // S2 assumes that nothing acknowledged is lost, so every write is on disk before its reply.
    test::redis_server server_{{.disk = test::redis_server::persistence::append_only}};
    test::fault_proxy link_{server_, test::fault_proxy::memory::none};
};

}  // namespace

std::unique_ptr<topology> make_single(precautions) { return std::make_unique<single>(); }

std::span<const trouble> troubles_of_single() {
    using enum trouble;
    static constexpr trouble all[] = {client_stops,    client_killed,   link_cut,         link_stalls,
                                      link_slow,       link_refuses,    reply_lost,       command_lost,
                                      messages_lost,   commands_held,   server_stops,     server_killed,
                                      clients_paused,  scripts_flushed, connections_shut, memory_full,
                                      channels_denied, key_deleted,     holder_evicted};
    return all;
}

}  // namespace holdfast::chaos
