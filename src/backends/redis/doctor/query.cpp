#include "backends/redis/doctor/query.hpp"

#include "backends/redis/wake_ups/wake_channels.hpp"
#include "base/clock.hpp"
#include "base/random.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <atomic>
#include <memory>

namespace holdfast::redis_backend::doctor {

namespace {

// The shortest of a few round trips is close to what the network takes.
constexpr int clock_samples = 5;

class snapshot_run : public std::enable_shared_from_this<snapshot_run> {
  public:
    snapshot_run(redis::node& node, const query& i, std::function<void(snapshot_result)> done)
        : node_(node), deadline_(i.deadline), patience_(i.patience), done_(std::move(done)) {
        if (i.as != part::sentinel) found_.rights.emplace(i.wanted.name, i.own, i.wanted.part);
        found_.wanted = i.wanted;
        found_.as = i.as;
        found_.watched = i.watched;
    }

    void start() {
        if (found_.as == part::sentinel) return ask_sentinel();
        const auto never_used = std::string{wake_prefix} + base::client_id::make().base64url();
        plan({"INFO"}, found_.info);
        for (const auto name : settings_asked)
            plan({"CONFIG", "GET", std::string{name}}, found_.settings[name]);
        plan({"ACL", "WHOAMI"}, found_.whoami);
        plan({"PUBSUB", "NUMPAT"}, found_.patterns);
        plan({"PUBLISH", never_used, "doctor"}, found_.receivers);
        plan(found_.rights->words(), found_.verdicts);
        send([this] { more(); });
    }

  private:
    // A sentinel has few commands, and no lock depends on its clock.
    void ask_sentinel() {
        plan({"INFO"}, found_.info);
        plan({"SENTINEL", "MASTER", found_.watched}, found_.watched_master);
        plan({"SENTINEL", "REPLICAS", found_.watched}, found_.watched_replicas);
        plan({"SENTINEL", "CKQUORUM", found_.watched}, found_.quorum);
        send([this] {
            if (!found_.info.answered() && !found_.watched_master.answered())
                return done_(found_.watched_master.why());
            finish();
        });
    }

    struct question {
        std::vector<std::string> words;
        server_answer* answer;
    };

    void plan(std::vector<std::string> words, server_answer& answer) {
        planned_.push_back({std::move(words), &answer});
    }

    [[nodiscard]] backend::time_point soon() const {
        return std::min(deadline_, boot_clock::now() + patience_);
    }

    // Each answer has its own place, so answers may come on any thread.
    template <class Next>
    void send(Next next) {
        if (planned_.empty()) return next();
        const auto questions = std::exchange(planned_, {});
        open_.store(questions.size());
        const auto until = soon();
        for (const auto& q : questions) {
            const std::vector<std::string_view> words(q.words.begin(), q.words.end());
            node_.command(words, until, [self = shared_from_this(), at = q.answer, next](redis::outcome&& o) {
                *at = server_answer{std::move(o)};
                if (self->open_.fetch_sub(1) == 1) next();
            });
        }
    }

    // Asks the questions that depend on the first answers.
    void more() {
        // No answer at all, not even a refusal: there is nothing to examine.
        if (!found_.info.answered() && !found_.whoami.answered() && !found_.verdicts.answered())
            return done_(found_.info.why());
        if (const auto user = found_.whoami.text(); !user.empty())
            plan({"ACL", "GETUSER", std::string{user}}, found_.user);
        if (found_.is_cluster()) {
            plan({"CLUSTER", "INFO"}, found_.cluster_info);
            plan({"CLUSTER", "NODES"}, found_.cluster_nodes);
        }
        send([this] { read_clock(); });
    }

    // Sent alone and last, so that no other command delays it.
    void read_clock() {
        const base::step_watch own;
        const auto sent = base::wall_microseconds();
        node_.command({"TIME"}, soon(), [self = shared_from_this(), sent, own](redis::outcome&& o) {
            const auto got = base::wall_microseconds();
            const bool set_meanwhile = own.stepped() != std::chrono::microseconds{0};
            const server_answer answer{std::move(o)};
            if (const auto* r = answer.reply(); r != nullptr && r->items().size() == 2) {
                const auto seconds = whole(r->items()[0].text());
                const auto micros = whole(r->items()[1].text());
                // If this machine's clock was set meanwhile, the difference means nothing.
                if (seconds && micros && !set_meanwhile)
                    self->found_.clock.push_back({sent, got, *seconds * 1'000'000 + *micros});
            }
            if (self->found_.clock.empty()) {
                self->found_.time = answer;
                self->found_.own_clock_set = set_meanwhile;
            }
            const bool go_on = answer.reply() != nullptr && ++self->clock_asked_ < clock_samples;
            if (go_on) return self->read_clock();
            self->finish();
        });
    }

    void finish() {
        found_.connection = node_.info();
        found_.now = base::wall_microseconds();
        done_(std::move(found_));
    }

    redis::node& node_;
    const backend::time_point deadline_;
    const std::chrono::milliseconds patience_;
    const std::function<void(snapshot_result)> done_;
    snapshot found_;
    std::vector<question> planned_;
    std::atomic<std::size_t> open_{0};
    int clock_asked_ = 0;
};

}  // namespace

void ask(redis::node& node, const query& i, std::function<void(snapshot_result)> done) {
    std::make_shared<snapshot_run>(node, i, std::move(done))->start();
}

}  // namespace holdfast::redis_backend::doctor
