#include "backends/sql/renewals.hpp"

#include "backends/sql/fault_answers.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <utility>

namespace holdfast::sql_backend {

namespace {

using namespace backend;

class renewals : public std::enable_shared_from_this<renewals> {
  public:
    renewals(const change_tools& with, std::vector<renew_request> all, time_point deadline, renew_handlers to)
        : with_(with), all_(std::move(all)), deadline_(deadline), to_(std::move(to)), answers_(all_.size()) {}

    void begin() {
        step([this] { begin_with_memory(); });
    }

  private:
    struct renewing {
        std::size_t request;
        remembered_records::entry written;
    };

    // Without memory for a step, none of the leases that the step would renew is.
    template <class Step>
    void step(const Step& what) {
        try {
            what();
        } catch (const std::bad_alloc&) {
            fail({fault::effect::unknown, {make_error_code(errc::out_of_memory), {}, {}}});
        }
    }
    void begin_with_memory() {
        if (all_.size() == 1) return alone({0});
        // One of two leases on one lock, as of a semaphore, would find that the other has changed the record.
        std::map<std::string, std::size_t> by_name;
        std::vector<std::size_t> rest;
        for (std::size_t i = 0; i < all_.size(); ++i)
            if (!by_name.try_emplace(all_[i].key.name.str(), i).second) rest.push_back(i);
        load(std::move(by_name), std::move(rest));
    }
    void load(std::map<std::string, std::size_t> by_name, std::vector<std::size_t> rest) {
        std::vector<std::string> names;
        for (const auto& [name, i] : by_name) names.push_back(name);
        with_.on.run({&with_.speaks.load_many, {parameter::text(with_.speaks.list_of_blobs(names))}},
                     deadline_,
                     [self = shared_from_this(), by_name = std::move(by_name),
                      rest = std::move(rest)](const outcome& result) mutable {
                         self->step([&] { self->on_loaded(result, std::move(by_name), std::move(rest)); });
                     });
    }
    void on_loaded(const outcome& result, std::map<std::string, std::size_t> by_name,
                   std::vector<std::size_t> rest) {
        if (const auto* const no = std::get_if<fault>(&result)) return fail(*no);
        std::vector<std::string> names;
        std::vector<std::string> records;
        std::vector<std::int64_t> versions;
        std::vector<std::int64_t> next_versions;
        std::map<std::string, renewing> asked;
        for (const auto& r : std::get<rows>(result)) {
            if (r.size() < 4 || !r[0]) continue;
            const auto at = by_name.find(*r[0]);
            if (at == by_name.end()) continue;
            const auto found = read_record({{r[1], r[2], r[3]}});
            const auto* const lock = std::get_if<loaded>(&found);
            if (lock == nullptr) continue;
            auto record = lock->record;
            auto done = engine::apply(record, all_[at->second], {.now = lock->now});
            // What is not simply renewed is looked at once more, alone: its record has to be tidied up.
            if (!std::holds_alternative<renewed>(done.answer) || !done.notify.handed.empty() ||
                done.notify.all)
                continue;
            answers_[at->second] = std::move(done.answer);
            with_.known.records.loaded(*r[0], lock->version);
            names.push_back(*r[0]);
            records.push_back(engine::to_bytes(record));
            versions.push_back(lock->version);
            next_versions.push_back(with_.known.next_version.next());
            asked.emplace(*r[0],
                          renewing{at->second, {std::move(record), records.back(), next_versions.back()}});
            by_name.erase(at);
        }
        for (const auto& [name, i] : by_name) rest.push_back(i);
        if (names.empty()) return alone(rest);
        with_.on.run({&with_.speaks.save_many,
                      {parameter::text(with_.speaks.list_of_blobs(names)),
                       parameter::text(with_.speaks.list_of_numbers(versions)),
                       parameter::text(with_.speaks.list_of_blobs(records)),
                       parameter::text(with_.speaks.list_of_numbers(next_versions))}},
                     deadline_,
                     [self = shared_from_this(), asked = std::move(asked),
                      rest = std::move(rest)](const outcome& answer) mutable {
                         self->step([&] { self->on_saved(answer, std::move(asked), std::move(rest)); });
                     });
    }
    void on_saved(const outcome& result, std::map<std::string, renewing> asked,
                  std::vector<std::size_t> rest) {
        if (const auto* const no = std::get_if<fault>(&result); no != nullptr) {
            if (no->what != fault::effect::conflict) return fail(*no);
        } else {
            for (const auto& r : std::get<rows>(result)) {
                if (r.empty() || !r[0]) continue;
                if (auto one = asked.extract(*r[0]))
                    with_.known.records.saved_again(one.key(), std::move(one.mapped().written));
            }
        }
        std::map<std::string, std::size_t> left;
        for (const auto& [name, one] : asked) left.emplace(name, one.request);
        // Another client was faster, or another transaction keeps the row locked. The answers come together,
        // so those that are there do not wait for it.
        constexpr int most_rounds = 3;
        if (!left.empty() && ++rounds_ < most_rounds) return load(std::move(left), std::move(rest));
        for (const auto& [name, i] : left)
            answers_[i] = refused{
                {make_error_code(errc::busy_server), "another transaction keeps the row of this lock locked"},
                std::nullopt};
        alone(rest);
    }
    void alone(const std::vector<std::size_t>& rest) {
        left_ = rest.size() + 1;
        for (const auto i : rest) {
            try {
                to_.alone(
                    all_[i],
                    [self = shared_from_this(), i](renew_answer a) {
                        self->answers_[i] = std::move(a);
                        self->one_is_done();
                    },
                    deadline_);
            } catch (const std::bad_alloc&) {
                answers_[i] = refused{{make_error_code(errc::out_of_memory), {}, {}}, std::nullopt};
                one_is_done();
            }
        }
        one_is_done();
    }
    void one_is_done() {
        if (left_.fetch_sub(1) == 1) to_.done(std::move(answers_));
    }
    void fail(const fault& why) {
        for (auto& a : answers_) a = failed<renew_answer>(why);
        to_.done(std::move(answers_));
    }

    const change_tools& with_;
    const std::vector<renew_request> all_;
    const time_point deadline_;
    const renew_handlers to_;
    std::vector<renew_answer> answers_;
    int rounds_ = 0;
    std::atomic<std::size_t> left_{0};
};

}  // namespace

void renew_together(const change_tools& with, std::vector<renew_request> all, time_point deadline,
                    renew_handlers to) {
    if (all.empty()) return to.done({});
    std::make_shared<renewals>(with, std::move(all), deadline, std::move(to))->begin();
}

}  // namespace holdfast::sql_backend
