# base/embed.awk -- writes data files as C: the table data_files of base/ini.c.  A file is named by its folder and name.
BEGIN {
    print "/* Made by base/embed.awk. */"
    print "#include \"base/data.h\""
    print "const struct data_file data_files[] = {"
}
FNR == 1 {
    n = split(FILENAME, part, "/")
    if (NR > 1)
        print "    },"
    print "    {\"" part[n - 1] "/" part[n] "\","
}
{
    gsub(/\\/, "\\\\")
    gsub(/"/, "\\\"")
    print "     \"" $0 "\\n\""
}
END {
    print "    },"
    print "    {0, 0},"
    print "};"
}
