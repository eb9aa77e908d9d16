module example.org/recent

go 1.21
