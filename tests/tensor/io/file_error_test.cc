#include "tensor/io/file_error.h"

#include <cerrno>

#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(file_error)

BOOST_AUTO_TEST_CASE(full_disk_and_used_up_quota_have_an_exception_of_their_own,
                     *boost::unit_test::label("fault-F19")) {
  expect_error<StorageFullError>("[file] run/a: No space left on device",
                                 [] { detail::fail_with("[file] run/a", ENOSPC); });
  expect_error<StorageFullError>("[file] run/a: Disk quota exceeded",
                                 [] { detail::fail_with("[file] run/a", EDQUOT); });
  for (const int error : {EIO, EACCES, EROFS, ENOENT, EFBIG}) {
    BOOST_CHECK_EXCEPTION(detail::fail_with("[file] run/a", error), FileError, [](const FileError& thrown) {
      return dynamic_cast<const StorageFullError*>(&thrown) == nullptr;
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()
