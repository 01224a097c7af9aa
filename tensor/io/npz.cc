#include "tensor/io/npz.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/io/new_file.h"
#include "tensor/io/npy_format.h"
#include "tensor/io/opened_file.h"

namespace troupe {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::size_t kNameSizeMax = 0xFFFF - kSuffix.size();  ///< the format has 16 bits for the size of a name
constexpr std::uint64_t kDeflateRatioMax = 1032;  ///< the largest ratio of deflate (zlib technical details)

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Discard>;

/// Throws FileError with the archive's last error.
[[noreturn]] void fail(const std::string& where, zip_t* archive) {
  throw FileError(fmt::format("{}: {}", where, zip_strerror(archive)));
}

/// Throws FileError with `error`, which it releases.
[[noreturn]] void fail(const std::string& where, zip_error_t& error) {
  const std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw FileError(fmt::format("{}: {}", where, text));
}

/// Returns the archive in `source`.
Archive open_archive(const std::string& where, zip_source_t* source, int flags) {
  zip_error_t error{};
  Archive archive(zip_open_from_source(source, flags, &error));
  if (!archive) {
    zip_source_free(source);
    fail(where, error);
  }
  return archive;
}

/// A new file for libzip, which writes it as what it calls a source.
class NewArchive {
 public:
  explicit NewArchive(const std::filesystem::path& path) : file_("npz", path) { zip_error_init(&error_); }
  ~NewArchive() { zip_error_fini(&error_); }
  NewArchive(const NewArchive&) = delete;
  NewArchive& operator=(const NewArchive&) = delete;

  /// Returns an archive without members. REQUIRES: it is closed before this ends.
  [[nodiscard]] Archive open(const std::string& where) {
    zip_error_t error{};
    zip_source_t* const source = zip_source_function_create(&NewArchive::handle, this, &error);
    if (source == nullptr) fail(where, error);
    return open_archive(where, source, ZIP_CREATE | ZIP_TRUNCATE);
  }

  /// Writes the archive. Throws what NewFile has thrown meanwhile.
  void close(const std::string& where, Archive archive) {
    const bool is_written = zip_close(archive.get()) == 0;
    if (failed_) std::rethrow_exception(failed_);
    if (!is_written) fail(where, archive.get());
    static_cast<void>(archive.release());
    file_.commit();
  }

 private:
  static zip_int64_t handle(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    return static_cast<NewArchive*>(self)->answer(data, length, command);
  }

  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_SUPPORTS, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_STAT, ZIP_SOURCE_OPEN, ZIP_SOURCE_READ,
            ZIP_SOURCE_CLOSE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_WRITE,
            ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE,
            ZIP_SOURCE_REMOVE, -1);  // libzip asks for more than it uses
      case ZIP_SOURCE_ERROR: return zip_error_to_data(&error_, data, length);
      case ZIP_SOURCE_STAT: return refuse(ZIP_ER_READ, ENOENT);  // there is no such archive yet
      case ZIP_SOURCE_WRITE: return write({static_cast<const std::byte*>(data), static_cast<std::size_t>(length)});
      case ZIP_SOURCE_SEEK_WRITE: return seek(zip_source_seek_compute_offset(at_, size_, data, length, &error_));
      case ZIP_SOURCE_TELL_WRITE: return static_cast<zip_int64_t>(at_);
      case ZIP_SOURCE_BEGIN_WRITE:
      case ZIP_SOURCE_COMMIT_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_FREE: return 0;
      default: return refuse(ZIP_ER_OPNOTSUPP, 0);
    }
  }

  zip_int64_t refuse(int code, int system_code) {
    zip_error_set(&error_, code, system_code);
    return -1;
  }

  zip_int64_t write(std::span<const std::byte> bytes) {
    try {
      file_.write(bytes);
    } catch (const std::exception&) {
      failed_ = std::current_exception();
      return refuse(ZIP_ER_WRITE, EIO);
    }
    at_ += bytes.size();
    size_ = std::max(size_, at_);
    return static_cast<zip_int64_t>(bytes.size());
  }

  zip_int64_t seek(zip_int64_t at) {
    if (at < 0) return -1;
    try {
      file_.seek(static_cast<std::uint64_t>(at));
    } catch (const std::exception&) {
      failed_ = std::current_exception();
      return refuse(ZIP_ER_SEEK, EIO);
    }
    at_ = static_cast<std::uint64_t>(at);
    return 0;
  }

  detail::NewFile file_;
  std::uint64_t at_ = 0;
  std::uint64_t size_ = 0;
  zip_error_t error_;
  std::exception_ptr failed_;
};

/// libzip has a descriptor of its own, which it closes with the archive.
Archive archive_in(const std::string& where, const detail::OpenedFile& file) {
  const int descriptor = fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
  std::FILE* const stream = descriptor < 0 ? nullptr : fdopen(descriptor, "rb");
  if (stream == nullptr) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    file.fail(error);
  }
  zip_error_t error{};
  zip_source_t* const source = zip_source_filep_create(stream, 0, -1, &error);
  if (source == nullptr) {
    std::fclose(stream);
    fail(where, error);
  }
  return open_archive(where, source, ZIP_RDONLY | ZIP_CHECKCONS);
}

/// Refuses members that no .npz file has, and sizes that the packed bytes cannot unpack to.
void check_member(const std::string& where, const zip_stat_t& about, std::uint64_t packed_max) {
  if (about.encryption_method != ZIP_EM_NONE) throw FileError(fmt::format("{}: encrypted", where));
  if (about.comp_method != ZIP_CM_STORE && about.comp_method != ZIP_CM_DEFLATE) {
    throw FileError(fmt::format("{}: compression method {} is not supported", where, about.comp_method));
  }
  if (about.comp_size > packed_max) {
    throw FileError(fmt::format("{}: {} packed bytes, the file has {}", where, about.comp_size, packed_max));
  }
  const bool stored = about.comp_method == ZIP_CM_STORE;
  if (stored ? about.size != about.comp_size : about.size / kDeflateRatioMax > about.comp_size) {
    throw FileError(fmt::format("{}: {} bytes out of {} packed ones", where, about.size, about.comp_size));
  }
}

Tensor read_member(const std::string& where, zip_t* archive, zip_uint64_t index, std::uint64_t size) {
  const Member member(zip_fopen_index(archive, index, 0));
  if (!member) fail(where, archive);
  const auto read_some = [&](std::span<std::byte> into) {
    const zip_int64_t count = zip_fread(member.get(), into.data(), into.size());
    if (count < 0) throw FileError(fmt::format("{}: {}", where, zip_file_strerror(member.get())));
    return static_cast<std::size_t>(count);
  };
  const auto read = [&](std::span<std::byte> into) {
    while (!into.empty()) {
      const std::size_t count = read_some(into);
      if (count == 0) throw FileError(fmt::format("{}: shorter than the archive says", where));
      into = into.subspan(count);
    }
  };
  Tensor x = detail::parse_npy({where, size, read});
  std::array<std::byte, 1> beyond{};  // libzip compares the checksum at the end only
  if (read_some(beyond) > 0) throw FileError(fmt::format("{}: longer than the archive says", where));
  return x;
}

void add_member(const std::string& where, zip_t* archive, const std::string& name, std::string& header, const Tensor& x,
                Compression compression) {
  // libzip only reads the elements. Fragments are not const because libzip can be told to free them.
  auto* const elements = reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(x.bytes()));
  zip_buffer_fragment_t fragments[]{{reinterpret_cast<zip_uint8_t*>(header.data()), header.size()},
                                    {elements, x.nbytes()}};
  const zip_uint64_t fragment_count = x.nbytes() > 0 ? 2 : 1;
  zip_source_t* const source = zip_source_buffer_fragment(archive, fragments, fragment_count, 0);
  if (source == nullptr) fail(where, archive);
  const zip_int64_t added = zip_file_add(archive, (name + std::string(kSuffix)).c_str(), source, ZIP_FL_ENC_UTF_8);
  if (added < 0) {
    zip_source_free(source);
    fail(where, archive);
  }
  const auto index = static_cast<zip_uint64_t>(added);
  const zip_int32_t method = compression == Compression::deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
  constexpr zip_uint16_t kFirstOf1980 = (1 << 5) | 1;  // the earliest date of the format; NumPy writes it too
  if (zip_set_file_compression(archive, index, method, 0) != 0 ||
      zip_file_set_dostime(archive, index, 0, kFirstOf1980, 0) != 0) {
    fail(where, archive);
  }
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// Refuses names that cannot be read back: with another one in the archive, or as no text at all.
void check_names(const NamedTensors& arrays) {
  const auto is_control = [](char c) {  // libzip takes those for other encodings
    return static_cast<unsigned char>(c) < 0x20U && c != '\t' && c != '\n' && c != '\r';
  };
  std::set<std::string_view> names;
  for (const auto& [name, x] : arrays) {
    if (name.empty()) throw ValueError("[npz] not a name: ");
    if (name.size() > kNameSizeMax)
      throw ValueError(fmt::format("[npz] name of {} bytes, at most {}", name.size(), kNameSizeMax));
    if (!is_utf8(name)) throw ValueError(fmt::format("[npz] name that is not UTF-8: {:?}", name));
    if (std::ranges::any_of(name, is_control))
      throw ValueError(fmt::format("[npz] control character in a name: {:?}", name));
    if (!names.insert(name).second) throw ValueError(fmt::format("[npz] name given twice: {}", name));
  }
}

/// Writes an archive without members: the end record alone. libzip cannot write one.
void write_empty(const std::filesystem::path& file) {
  constexpr std::array<unsigned char, 22> kEndRecord{'P', 'K', 5, 6};
  detail::NewFile out("npz", file);
  out.write(std::as_bytes(std::span(kEndRecord)));
  out.commit();
}

}  // namespace

NamedTensors read_npz(const FilePath& path) {
  const std::string where = fmt::format("[npz] {}", path.text());
  const detail::OpenedFile file("npz", path.text());
  const Archive archive = archive_in(where, file);
  std::uint64_t packed_left = file.size();
  NamedTensors arrays;
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t index = 0; index < count; ++index) {
    zip_stat_t about;
    if (zip_stat_index(archive.get(), index, 0, &about) != 0) fail(where, archive.get());
    std::string name = about.name;
    const std::string member = fmt::format("{}: {}", where, name);
    check_member(member, about, packed_left);
    packed_left -= about.comp_size;
    if (!name.ends_with(kSuffix)) throw FileError(fmt::format("{}: not an array", member));
    name.resize(name.size() - kSuffix.size());
    arrays.emplace_back(std::move(name), read_member(member, archive.get(), index, about.size));
  }
  return arrays;
}

void write_npz(const FilePath& path, const NamedTensors& arrays, Compression compression) {
  const std::filesystem::path file(path.text());
  check_names(arrays);
  if (arrays.empty()) return write_empty(file);
  const std::string where = fmt::format("[npz] {}", file.string());
  NamedTensors written;  // keeps the elements alive until zip_close() reads them
  std::vector<std::string> headers;
  for (const auto& [name, x] : arrays) {
    written.emplace_back(name, detail::as_written_to_npy("npz", x));
    headers.push_back(detail::npy_header(written.back().second));
  }
  NewArchive out(file);
  Archive archive = out.open(where);
  for (std::size_t i = 0; i < written.size(); ++i) {
    add_member(where, archive.get(), written[i].first, headers[i], written[i].second, compression);
  }
  out.close(where, std::move(archive));
}

}  // namespace troupe
