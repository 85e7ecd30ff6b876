// One allocation fails, or all from then on: nobody owns a lock that nobody knows of, and no release ends the
// process.
#include "backends/common/work_queue.hpp"
#include "backends/sqlite/database.hpp"
#include "io/reactor.hpp"
#include "regress/failing_allocations.hpp"
#include "support/eventually.hpp"
#include "unit/session/scripted_store.hpp"

#include <new>
#include <optional>

namespace holdfast::session {
namespace {

using test::allocations_left;
using test::failure;
using test::never;

class no_allocation : public with_scripted_store, public ::testing::WithParamInterface<failure> {
  protected:
    template <class Work, class Then>
    static int each_failure(Work work, Then then) {
        return test::each_failure(GetParam(), std::move(work), std::move(then));
    }
    void expect_free_soon() {
        if (GetParam() == failure::of_one_allocation) {
            EXPECT_TRUE(test::eventually(20s, [&] { return store->taken() == 0; }));
        } else {
            store->forget_taken();  // these leases end by themselves
        }
        EXPECT_EQ(client->counts.snapshot(0).held_now, 0U);
    }

    void SetUp() override { store->renews_at_once(true); }

    const std::shared_ptr<client_lock> mine = lock_of(backend::kind::recursive);
};
INSTANTIATE_TEST_SUITE_P(, no_allocation,
                         ::testing::Values(failure::of_one_allocation, failure::of_all_from_then_on),
                         [](const auto& which) {
                             return which.param == failure::of_one_allocation ? "one" : "all";
                         });

TEST_P(no_allocation, of_an_acquisition_leaves_no_lock_behind) {
    const int met = each_failure(
        [&] {
            try {
                auto got = mine->acquire({.give_up_at = time_point::max()});
                if (auto* const h = std::get_if<std::shared_ptr<hold>>(&got)) (*h)->release();
            } catch (const std::bad_alloc&) {
            }
        },
        [&] { expect_free_soon(); });
    EXPECT_GT(met, 5);
}

TEST_P(no_allocation, of_lock_and_unlock_leaves_no_lock_behind) {
    const int met = each_failure(
        [&] {
            try {
                if (std::holds_alternative<std::shared_ptr<hold>>(
                        mine->acquire({.give_up_at = time_point::max(), .by_thread = true})))
                    mine->unlock();
            } catch (const std::bad_alloc&) {
            }
        },
        [&] { expect_free_soon(); });
    EXPECT_GT(met, 5);
}

TEST_P(no_allocation, of_a_nested_lock_counts_no_hold_that_was_not_got) {
    const int met = each_failure(
        [&] {
            const int n = std::exchange(allocations_left, never);
            lock(*mine);
            allocations_left = n;
            try {
                (void)mine->acquire({.give_up_at = time_point::max(), .by_thread = true});
                mine->unlock();
            } catch (const std::bad_alloc&) {
            }
            mine->unlock();
        },
        [&] { expect_free_soon(); });
    EXPECT_GT(met, 0);
}

TEST_P(no_allocation, of_a_release_does_not_end_the_process) {
    std::shared_ptr<hold> h;
    const int met = each_failure(
        [&] {
            const int n = std::exchange(allocations_left, never);
            h = std::get<std::shared_ptr<hold>>(mine->acquire({.give_up_at = time_point::max()}));
            allocations_left = n;
            (void)h->release();
            EXPECT_FALSE(h->valid());
        },
        [&] { expect_free_soon(); });
    EXPECT_GT(met, 0);
}

TEST_P(no_allocation, of_a_release_without_a_waiting_thread_is_reported_all_the_same) {
    std::shared_ptr<hold> h;
    const int met = each_failure(
        [&] {
            const int n = std::exchange(allocations_left, never);
            h = std::get<std::shared_ptr<hold>>(mine->acquire({.give_up_at = time_point::max()}));
            const auto told = std::make_shared<std::atomic<bool>>(false);
            callback<void(release_result)> done = [told](const release_result&) { *told = true; };
            allocations_left = n;
            h->release_later(std::move(done));
            const int left = std::exchange(allocations_left, never);
            EXPECT_TRUE(test::eventually(20s, [&] { return told->load(); }));
            allocations_left = left;
        },
        [&] { expect_free_soon(); });
    EXPECT_GT(met, 0);
}

// Otherwise it is never tried again, and neither is what comes behind it.
TEST_P(no_allocation, of_work_that_must_wait_leaves_none_in_the_queue) {
    io::reactor reactor;
    backends::work_queue all{reactor};
    const int met = each_failure(
        [&] {
            try {
                all.run("file", time_point::max(), [tries = 0](const auto&) mutable {
                    return tries++ == 0 ? backends::work_queue::outcome::try_again
                                        : backends::work_queue::outcome::done;
                });
            } catch (const std::bad_alloc&) {
            }
        },
        [&] { EXPECT_TRUE(test::eventually(20s, [&] { return !all.has_work(); })); });
    EXPECT_GT(met, 2);
    all.close();
}

// It would stop all locks of the file.
TEST_P(no_allocation, of_a_statement_leaves_no_transaction_open) {
    const test::temp_dir folder;
    const auto path = (folder.path() / "locks.db").string();
    sqlite_backend::database other{path};
    other.run("CREATE TABLE written (number INTEGER)");
    std::optional<sqlite_backend::database> file;
    const int met = each_failure(
        [&] {
            const int n = std::exchange(allocations_left, never);
            file.emplace(path);
            allocations_left = n;
            try {
                sqlite_backend::transaction all{*file};
                sqlite_backend::statement{*file, "INSERT INTO written VALUES (1)"}.run();
                all.commit();
            } catch (const std::bad_alloc&) {
            }
        },
        [&] {
            for (auto* const one : {&other, &*file}) {
                EXPECT_NO_THROW({
                    sqlite_backend::transaction all{*one};
                    all.commit();
                });
            }
        });
    EXPECT_GT(met, 0);
}

}  // namespace
}  // namespace holdfast::session
