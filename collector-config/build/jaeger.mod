// Jaeger from source. v1.76.0 is the commit of v2.13.0; later v2 tags cannot be required as a module.
module rollscope/jaeger

go 1.26

require github.com/jaegertracing/jaeger v1.76.0

// Repeats the line of its own go.mod, which only counts in the main module.
replace github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0
