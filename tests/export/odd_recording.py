# SPDX-License-Identifier: MIT
"""Writes a trace.dat (version 6) with what exports may stumble over.

  odd_recording.py FILE

Fields named like columns of exports and words of SQL, one event name in two systems, bytes that are
not UTF-8, control bytes, markup, texts that could not be read, records that end too soon, the
largest record, numbers at their limits, a number of lost events, and an event without a format.
"""
import struct
import sys

PAGE = 131072
COMMON = """\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""


def event_format(name, number, fields):
    text = f"name: {name}\nID: {number}\nformat:\n{COMMON}"
    for field, offset, size, signed in fields:
        text += f"\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"
    return text + '\nprint fmt: ""\n'


SELECT = [("u64 ts", 8, 8, 0), ("int pid", 16, 4, 1), ("int select", 20, 4, 1),
          ("char comm[8]", 24, 8, 0), ("s64 least", 32, 8, 1), ("u64 most", 40, 8, 0),
          ("__data_loc char[] text", 48, 4, 0), ("__data_loc u32[] list", 52, 4, 0),
          ("s16 PID", 56, 2, 1), ("unsigned char from", 58, 1, 0), ("signed char cpu", 59, 1, 1),
          ("double real", 60, 8, 1), ("int stack", 68, 4, 1)]
SYSTEMS = {
    "odd": [event_format("select", 600, SELECT),
            event_format("large", 601, [("__data_loc char[] text", 8, 4, 0)])],
    "other": [event_format("select", 602, [("int n", 8, 4, 1)]),
              event_format("order", 603, [("int table", 8, 4, 1), ("int rowid", 12, 4, 1)])],
}


def head(number, tid=7):
    return struct.pack("<HBBi", number, 0, 0, tid)


def select(i, text, numbers):
    body = head(600, 7 + i % 3) + struct.pack("<Qii8sqQ", 2 ** 64 - 1 - i, -i, i,
                                              b"na\xffme\x01<", -2 ** 63 + i, 2 ** 64 - 1 - i)
    at = 72
    text_at, list_at = at, at + len(text)
    body += struct.pack("<II", len(text) << 16 | text_at, len(numbers) * 4 << 16 | list_at)
    body += struct.pack("<hBbdi", -1, 255, -128, i / 8, i)
    return body + text + struct.pack(f"<{len(numbers)}I", *numbers)


TEXTS = [b"plain\0", b"<script>alert(1)</script>\0", b"",
         b"\xff\xfe\x80 \xc3\xa4 \xf0\x9f\x98\x80\0",
         b"\x1b[31m\x07\n\t\r\"'\\;,\0", b"\0", b"'); DROP TABLE meta; --\0"]


def records():
    for i in range(700):
        yield select(i, TEXTS[i % len(TEXTS)], range(i % 5))
        yield head(602) + struct.pack("<i", i)
        if i % 10 == 0:
            yield head(603) + struct.pack("<ii", i, -i)
    yield head(601) + struct.pack("<I", 65500 << 16 | 12) + b"x" * 65499 + b"\0"
    yield select(1, b"cut\0", [1])[:50]
    yield head(999) + b"no format"


def entry(delta, body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<II", delta << 5, len(body) + 4) + body


def pages(first_ns, lost_before_second):
    """Full pages; the second says that events are missing before it."""
    out, page, start, now = [], b"", first_ns, first_ns
    limit = PAGE - 16 - 8
    for body in records():
        piece = entry(1000 if page else 0, body)
        if len(page) + len(piece) > limit:
            out.append((start, page))
            page, start = b"", now + 1000
            piece = entry(0, body)
        now = now + 1000 if page else start
        page += piece
    out.append((start, page))
    data = b""
    for number, (start, page) in enumerate(out):
        lost = lost_before_second if number == 1 else 0
        flags = 1 << 31 | 1 << 30 if lost else 0
        body = struct.pack("<QQ", start, len(page) | flags) + page
        if lost:
            body += struct.pack("<Q", lost)
        data += body + b"\0" * (PAGE - len(body))
    return data


def sized(text, how):
    return struct.pack(how, len(text)) + text


def main():
    header_page = (f"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                   f"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                   f"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                   f"\tfield: char data;\toffset:16;\tsize:{PAGE - 16};\tsigned:0;\n").encode()
    header_event = (b"# compressed entry header\n\ttype_len    :    5 bits\n"
                    b"\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
                    b"\tpadding     : type == 29\n\ttime_extend : type == 30\n"
                    b"\ttime_stamp : type == 31\n\tdata max type_len  == 28\n")
    out = b"\x17\x08\x44tracing6\0\0\x08" + struct.pack("<I", PAGE)
    out += b"header_page\0" + sized(header_page, "<Q")
    out += b"header_event\0" + sized(header_event, "<Q")
    out += struct.pack("<I", 0) + struct.pack("<I", len(SYSTEMS))
    for system, formats in SYSTEMS.items():
        out += system.encode() + b"\0" + struct.pack("<I", len(formats))
        for text in formats:
            out += sized(text.encode(), "<Q")
    out += sized(b"", "<I") + sized(b"", "<I")
    out += sized(b"7 <b>\x01\xff\n8 worker\n", "<Q")
    data = [pages(10 ** 12, 77), pages(10 ** 12 + 500, 0)]
    out += struct.pack("<I", len(data)) + b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
    at = -(-(len(out) + 16 * len(data)) // PAGE) * PAGE
    for one in data:
        out += struct.pack("<QQ", at, len(one))
        at += len(one)
    out += b"\0" * (-len(out) % PAGE) + b"".join(data)
    with open(sys.argv[1], "wb") as file:
        file.write(out)


main()
