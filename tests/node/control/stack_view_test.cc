#include "node/control/stack_view.h"

#include <boost/test/unit_test.hpp>

#include <string>

#include "tests/node/control/report_samples.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(stack_view)

BOOST_AUTO_TEST_CASE(each_kind_of_wait_is_a_paragraph) {
  StackReport report = testing::sample_stack_report();
  report.stack.counts.pending_calls = 2;
  report.stack.counts.served_calls = 1;
  report.stack.counts.contexts = 2;
  report.stack.counts.threads_busy = 1;
  report.stack.counts.threads_waiting = 1;
  BOOST_TEST(text_of(report) ==
             "ps0 (rank 1), up 12.3 s\n"
             "\n"
             "Waits for answers of\n"
             "    AGE      LEFT  NODE     WHAT         FROM\n"
             "  1.2 s    58.8 s  ps1      rpc forward  trainer.cc:57\n"
             "   7 ms  no limit  trainer  rpc watch    -\n"
             "\n"
             "Works for\n"
             "         AGE  NODE     WHAT\n"
             "  1 min 30 s  trainer  rpc keep\n"
             "\n"
             "Values in use\n"
             "  VALUE             AGE  USED BY               WHICH\n"
             "  trainer.3  1 min 30 s  rpc keep for trainer  has the turn\n"
             "                  3.0 s  rpc forward for ps1   waits to go on\n"
             "                  2.0 s  this program          waits for its turn\n"
             "             1 min 35 s  rpc step for ps1      waits elsewhere\n"
             "  trainer.4       1.0 s  rpc keep for trainer  waits for the value\n"
             "\n"
             "Contexts\n"
             "  CONTEXT       AGE  PASSES  SENDS  WITH\n"
             "  trainer.17  40 ms       1     12  ps1, trainer\n"
             "  ps0.1        2 ms       0      0  -\n"
             "\n"
             "Groups that meet here\n"
             "  BARRIER  WAITS  NODE     FOR\n"
             "  barrier  3.0 s  trainer  ps1, ps2\n"
             "           1.0 s  ps0      \"\n"
             "\n"
             "Threads of the pool\n"
             "         AGE  DOES   JOB\n"
             "  1 min 30 s  runs   rpc keep for trainer\n"
             "  1 min 35 s  waits  rpc step for ps1\n"
             "\n"
             "Not everything: its contexts did not answer in time\n");
}

BOOST_AUTO_TEST_CASE(what_is_not_listed_is_counted) {
  StackReport report = testing::sample_stack_report();
  report.stack.counts.pending_calls = 100'002;
  BOOST_TEST(text_of(report).find("rpc watch    -\n  and 100000 younger ones\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(idle_node_says_so_in_one_line) {
  StackReport report;
  report.stack.counts.node.name = "ps0";
  BOOST_TEST(text_of(report) == "ps0, up 0 ms: nothing waits\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
