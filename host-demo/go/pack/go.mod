module retort.dev/contract/pack

go 1.25.0

require golang.org/x/mod v0.31.0
