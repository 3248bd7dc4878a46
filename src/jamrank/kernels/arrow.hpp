// Columns of text in the memory of arrow, as its C stream interface hands them over.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "words.hpp"

// The structs of arrow's C interface: names and order of the fields are those of its specification.
extern "C" {
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema*);
    int (*get_next)(struct ArrowArrayStream*, struct ArrowArray*);
    const char* (*get_last_error)(struct ArrowArrayStream*);
    void (*release)(struct ArrowArrayStream*);
    void* private_data;
};
}

namespace jamrank {

// The texts of one array. Text comes as views, which hold up to twelve bytes themselves, or as offsets into one buffer.
class TextArray {
  public:
    TextArray(const ArrowArray& array, const std::string& format)
        : array_(array), has_views_(format == "vu"), is_large_(format == "U") {}

    size_t size() const { return static_cast<size_t>(array_.length); }
    bool missing(size_t at) const {
        const auto* valid = static_cast<const uint8_t*>(array_.buffers[0]);
        const size_t bit = at + static_cast<size_t>(array_.offset);
        return valid != nullptr && !(valid[bit / 8] >> (bit % 8) & 1);
    }
    KeyedWord keyed(size_t at) const {
        at += static_cast<size_t>(array_.offset);
        if (has_views_) return view(at);
        return is_large_ ? slice<int64_t>(at) : slice<int32_t>(at);
    }

  private:
    KeyedWord view(size_t at) const {
        const auto* views = static_cast<const uint8_t*>(array_.buffers[1]);
        const uint8_t* view = views + 16 * at;
        int32_t size, buffer, begin;
        std::memcpy(&size, view, 4);
        if (size <= 12) return {{view + 4, static_cast<size_t>(size)}, views + 16 * (array_.offset + array_.length)};
        std::memcpy(&buffer, view + 8, 4);
        std::memcpy(&begin, view + 12, 4);
        const auto* text = static_cast<const uint8_t*>(array_.buffers[2 + buffer]);
        // After the buffers comes one of their sizes.
        const auto* sizes = static_cast<const int64_t*>(array_.buffers[array_.n_buffers - 1]);
        return {{text + begin, static_cast<size_t>(size)}, text + sizes[buffer]};
    }
    template <typename Offset>
    KeyedWord slice(size_t at) const {
        const auto* offsets = static_cast<const Offset*>(array_.buffers[1]);
        const Offset begin = offsets[at], end = offsets[at + 1], last = offsets[array_.offset + array_.length];
        // The buffer may be missing where all texts are empty.
        if (begin == end) return KeyedWord::empty();
        const auto* text = static_cast<const uint8_t*>(array_.buffers[2]);
        return {{text + begin, static_cast<size_t>(end - begin)}, text + last};
    }
    ArrowArray array_;
    bool has_views_, is_large_;
};

// The arrays of a column of text.
class TextColumn {
  public:
    explicit TextColumn(const nb::object& column) : capsule_(column.attr("__arrow_c_stream__")()) {
        auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule_.ptr(), "arrow_array_stream"));
        if (stream == nullptr) nb::raise_python_error();
        ArrowSchema schema{};
        require(stream->get_schema(stream, &schema) == 0, "a column in arrow's memory");
        const std::string format = schema.format;
        schema.release(&schema);
        require(format == "vu" || format == "U" || format == "u", "a column of text");
        while (true) {
            ArrowArray array{};
            require(stream->get_next(stream, &array) == 0, "a column in arrow's memory");
            if (array.release == nullptr) break;
            owned_.push_back(array);
            arrays.emplace_back(array, format);
        }
    }
    ~TextColumn() {
        for (ArrowArray& array : owned_) array.release(&array);
    }
    TextColumn(const TextColumn&) = delete;
    TextColumn& operator=(const TextColumn&) = delete;

    size_t size() const {
        size_t total = 0;
        for (const TextArray& array : arrays) total += array.size();
        return total;
    }

    std::vector<TextArray> arrays;

  private:
    nb::object capsule_;
    std::vector<ArrowArray> owned_;
};

}  // namespace jamrank
