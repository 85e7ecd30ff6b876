// A master behind Sentinel: the master, its replicas and its sentinels.
#include "backends/redis/doctor/examine.hpp"
#include "backends/redis/doctor/sentinel_group.hpp"
#include "redis/sentinel/sentinels.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

namespace holdfast::redis_backend::doctor {

namespace {

class sentinel_examination : public std::enable_shared_from_this<sentinel_examination> {
  public:
    sentinel_examination(const redis::node_config& c, temporary_connections& connections, const query& i,
                         examination_handler done)
        : config_(c), connections_(connections), query_(i), done_(std::move(done)) {}

    // Asks the master over the client's own connection, and the sentinels at the same time.
    void start(redis::node& master) {
        auto of_master = query_;
        of_master.as = part::master;
        std::vector<connection_to> sentinels;
        for (const auto& at : config_.sentinels->at) {
            auto of_sentinel = query_;
            of_sentinel.as = part::sentinel;
            of_sentinel.watched = config_.sentinels->master;
            sentinels.push_back({redis::config_of_sentinel(config_, at), std::move(of_sentinel)});
        }
        connections_.ask_all(std::move(sentinels),
                             [self = shared_from_this()](std::vector<server_result> all) {
                                 self->sentinels_ = std::move(all);
                                 self->arrived();
                             });
        ask(master, of_master, [self = shared_from_this()](snapshot_result found) {
            self->master_.emplace(std::move(found));
            self->arrived();
        });
    }

  private:
    void arrived() {
        if (open_.fetch_sub(1) > 1) return;
        std::vector<connection_to> replicas;
        for (const auto& at : places_of_replicas()) {
            auto of_replica = query_;
            of_replica.as = part::replica;
            auto config = redis::config_at(config_, at);
            config.connections = 1;
            replicas.push_back({std::move(config), std::move(of_replica)});
        }
        connections_.ask_all(
            std::move(replicas),
            [self = shared_from_this()](const std::vector<server_result>& all) { self->finish(all); });
    }

    // From the lists of the sentinels and of the master: a sentinel may not know a new replica yet.
    [[nodiscard]] std::vector<redis::host_port> places_of_replicas() const {
        std::vector<redis::host_port> found;
        const auto add = [&](std::string_view host, std::string_view port) {
            const redis::host_port at{std::string{host}, static_cast<std::uint16_t>(whole(port).value_or(0))};
            if (at.port == 0 || host.empty() || redis::address_text(at) == in_use()) return;
            if (std::find(found.begin(), found.end(), at) == found.end()) found.push_back(at);
        };
        for (const auto& one : sentinels_) {
            const auto* const s = std::get_if<snapshot>(&one.found);
            const auto* const replicas = s == nullptr ? nullptr : s->watched_replicas.reply();
            if (replicas == nullptr) continue;
            for (const auto& replica : replicas->items())
                add(named_value(replica, "ip"), named_value(replica, "port"));
        }
        const auto* const master = std::get_if<snapshot>(&*master_);
        const auto connected = master == nullptr ? 0 : master->number("connected_slaves").value_or(0);
        for (std::int64_t i = 0; i < connected; ++i) {
            const auto line = master->field("slave" + std::to_string(i)).value_or("");
            add(part_of(line, "ip"), part_of(line, "port"));
        }
        return found;
    }

    [[nodiscard]] std::string in_use() const {
        const auto* const master = std::get_if<snapshot>(&*master_);
        return master == nullptr ? std::string{} : master->connection.address;
    }

    void finish(const std::vector<server_result>& replicas) {
        const auto silent = [](const auto& one) {
            return std::holds_alternative<backend::failure>(one.found);
        };
        if (const auto* no = std::get_if<backend::failure>(&*master_);
            no != nullptr && std::all_of(sentinels_.begin(), sentinels_.end(), silent))
            return done_(*no);
        examination all;
        add_to(all, {redis::address_text(config_), part::master, *master_});
        for (const auto& r : replicas) add_to(all, r);
        for (const auto& s : sentinels_) add_to(all, s);
        auto of_all = judge(sentinel_group{config_.sentinels->master, in_use(), sentinels_});
        std::move(of_all.begin(), of_all.end(), std::back_inserter(all.findings));
        std::vector<examination> one;
        one.push_back(std::move(all));
        done_(together(std::move(one)));
    }

    const redis::node_config config_;
    temporary_connections& connections_;
    const query query_;
    const examination_handler done_;
    std::atomic<int> open_{2};
    std::optional<snapshot_result> master_;
    std::vector<server_result> sentinels_;
};

}  // namespace

void examine_behind_sentinel(redis::node& master, const redis::node_config& config,
                             temporary_connections& connections, const query& i, examination_handler done) {
    std::make_shared<sentinel_examination>(config, connections, i, std::move(done))->start(master);
}

}  // namespace holdfast::redis_backend::doctor
