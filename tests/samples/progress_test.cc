#include "samples/progress.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

BOOST_AUTO_TEST_SUITE(progress)

BOOST_AUTO_TEST_CASE(a_bar_replaces_itself_and_ends_its_line_when_done) {
  std::ostringstream out;
  samples::Progress progress(out, samples::Progress::Style::bar, "train", 200);
  progress.update(50, "loss 0.5");
  progress.update(200, "ok");
  BOOST_TEST(out.str() ==
             "train [#####...............] 50/200 loss 0.5\r"
             "train [####################] 200/200 ok     \n");
}

BOOST_AUTO_TEST_CASE(plain_lines_appear_once_for_each_tenth) {
  std::ostringstream out;
  samples::Progress progress(out, samples::Progress::Style::lines, "train", 40);
  for (int done = 1; done <= 40; ++done) {
    if (done < 10 || done == 40) progress.update(done, "x");
  }
  BOOST_TEST(out.str() == "train 4/40 x\ntrain 8/40 x\ntrain 40/40 x\n");
}

BOOST_AUTO_TEST_SUITE_END()
